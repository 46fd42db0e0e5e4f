"""Converts traces of other programs to FXT and back, and compares them.

    python check.py --trace TRACE --engine PERFETTO_UI --work DIR [NAME...]

Prints a line for each program, with what `trace stats` says of it, and the number of those that passed and failed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from decimal import Decimal
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "readers"))
import async_programs  # noqa: E402
import perfetto  # noqa: E402  It is in the folder that was added.

PAGE = """<!doctype html><title>page</title><p id=p></p><script>
performance.mark("begin"); let n = 0; for (let i = 0; i < 3e6; i++) n += Math.sqrt(i); performance.measure("work", "begin");
setTimeout(() => { document.getElementById("p").textContent = n; }, 50);
</script>"""

SCRIPT = """const fs = require("fs");
performance.mark("begin");
fs.readFile(__filename, () => setTimeout(() => performance.measure("work", "begin"), 10));"""

SOURCE = """#include <algorithm>
#include <map>
#include <string>
#include <vector>
int main() { std::map<std::string, std::vector<int>> m; m["a"] = {3, 1, 2}; std::sort(m["a"].begin(), m["a"].end()); }"""

RUST = """use std::collections::BTreeMap;
fn main() { let mut m: BTreeMap<String, Vec<u32>> = BTreeMap::new(); m.entry("a".into()).or_default().push(3); println!("{m:?}"); }"""

PYTHON = """def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
print(fib(12), sorted([3, 1, 2]))"""


def run(*command: object, cwd: Path | None = None, **variables: str) -> str:
    words, env = [str(word) for word in command], os.environ | variables
    result = subprocess.run(words, cwd=cwd, env=env, capture_output=True, text=True, encoding="utf-8", timeout=300, check=False)
    if result.returncode != 0:
        raise RuntimeError(f"{words} exits with {result.returncode}: {result.stderr[-2000:]}")
    return result.stdout


def put(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def chromium(work: Path) -> Path:
    page, out = put(work / "page.html", PAGE), work / "trace.json"
    quiet = ["--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"]
    tracing = ["--trace-startup=*", f"--trace-startup-file={out}", "--trace-startup-duration=2", "--trace-startup-format=json"]
    run("chromium", "--headless", "--no-sandbox", *quiet, f"--user-data-dir={work / 'profile'}", *tracing, "--virtual-time-budget=4000",
        f"--screenshot={work / 'page.png'}", page.as_uri())  # fmt: skip
    return out


def node(work: Path) -> Path:
    script, out = put(work / "script.js", SCRIPT), work / "trace.json"
    run("node", "--trace-events-enabled", "--trace-event-categories", "v8,node,node.async_hooks,node.perf,node.fs.sync",
        "--trace-event-file-pattern", out, script)  # fmt: skip
    return out


def clang(work: Path) -> Path:
    run("clang++", "-std=c++17", "-ftime-trace", "-ftime-trace-granularity=0", "-c", put(work / "source.cc", SOURCE), "-o", work / "trace.o")
    return work / "trace.json"


def viztracer(work: Path) -> Path:
    script, out = put(work / "script.py", PYTHON), work / "trace.json"
    run(sys.executable, "-m", "viztracer", "--log_func_args", "--log_func_retval", "-o", out, script)
    return out


def tracing_chrome(work: Path) -> Path:
    manifest = Path(__file__).parent / "tracing-chrome" / "Cargo.toml"
    out = work / "trace.json"
    run("cargo", "run", "--quiet", "--locked", "--manifest-path", manifest, "--target-dir", work / "target", "--", out)
    return out


def cargo(work: Path) -> Path:
    """The trace of cargo's own work during a build."""
    crate = fresh(work / "crate")
    put(crate / "Cargo.toml", '[package]\nname = "built"\nversion = "0.0.0"\nedition = "2021"\n[workspace]\n')
    (crate / "src").mkdir()
    put(crate / "src" / "main.rs", RUST)
    run("cargo", "build", "--target-dir", crate / "target", cwd=crate, CARGO_LOG_PROFILE="true", CARGO_LOG_PROFILE_CAPTURE_ARGS="true")
    return only(crate, "trace-*.json").rename(work / "trace.json")


def rustc_llvm(work: Path) -> Path:
    """The trace of LLVM in rustc. The option is unstable."""
    out = fresh(work / "out")
    run("rustc", "-Z", "llvm-time-trace", "-C", "opt-level=2", put(work / "built.rs", RUST), cwd=out, RUSTC_BOOTSTRAP="1")
    return only(out, "*.llvm_timings.json").rename(work / "trace.json")


def rustc_profile(work: Path) -> Path:
    """rustc's own profile, converted to JSON as by its tool crox."""
    out = fresh(work / "out")
    profile = ("-Z", f"self-profile={out}", "-Z", "self-profile-events=default,args")
    run("rustc", *profile, put(work / "built.rs", RUST), cwd=out, RUSTC_BOOTSTRAP="1")
    manifest = Path(__file__).parent / "rustc-profile" / "Cargo.toml"
    program = ("cargo", "run", "--quiet", "--locked", "--manifest-path", manifest, "--target-dir", work / "target")
    run(*program, "--", only(out, "*.mm_profdata"), work / "trace.json")
    return work / "trace.json"


def fresh(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder


def only(folder: Path, pattern: str) -> Path:
    [path] = folder.glob(pattern)
    return path


MAKERS = {maker.__name__: maker for maker in (chromium, node, clang, viztracer, tracing_chrome, cargo, rustc_llvm, rustc_profile)}


def load(path: Path) -> object:
    """Reads JSON strictly, numbers exactly; the end of an array may be missing."""
    text = path.read_text(encoding="utf-8")
    exact = {"parse_float": Decimal, "parse_int": Decimal, "parse_constant": refuse}
    try:
        return json.loads(text, **exact)
    except json.JSONDecodeError:
        return json.loads(text.rstrip().rstrip(",") + "]", **exact)


def refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def events(document: object) -> list[dict[str, object]]:
    return document if isinstance(document, list) else document["traceEvents"]


def faults(before: object, after: object) -> list[str]:
    differ = [f"{old} became {new}" for old, new in zip(events(before), events(after)) if old != new]
    if len(events(before)) < 20:
        differ.append(f"the program wrote {len(events(before))} events only")
    return differ if differ or before == after else ["the documents differ outside their events"]


def shown(engine: Path, trace: Path) -> tuple[dict[str, int], int, int]:
    """Perfetto's counts for a trace, without thread 0, which it treats as the kernel's.

    Also the number of durations that it omits because they overlap others of their thread, which in JSON it gives a track of their own; and
    how many ends it takes before their begins, since the program wrote one time for both.
    """
    one = "select count(*) from "
    [slices], [flows], [threads], errors = perfetto.query(
        engine, trace, [one + "slice", one + "flow", one + "thread where name is not null and tid != 0", perfetto.ERRORS]
    )
    dropped = {name: int(value) for name, value in errors}
    left_out = dropped.pop("slice_drop_overlapping_complete_event", 0)
    misplaced = dropped.pop("misplaced_end_event", 0)
    if dropped:
        raise RuntimeError(f"Perfetto on {trace}: {dropped}")
    return {"slices": int(slices[0]) + left_out, "flows": int(flows[0]), "threads": int(threads[0])}, left_out, misplaced


def perfetto_faults(engine: Path, document: Path, archive: Path) -> list[str]:
    (of_json, _, misplaced), (of_fxt, left_out, _) = shown(engine, document), shown(engine, archive)
    print(f"    Perfetto: {of_fxt}" + (f", {left_out} slices overlap" if left_out else ""))
    if misplaced:
        # The remaining durations differ, because the two importers sort simultaneous events
        # differently.
        print(f"    Perfetto misplaces {misplaced} ends of the program's own document: slices are not compared")
        of_json["slices"] = of_fxt["slices"]
    return [] if of_json == of_fxt else [f"Perfetto shows {of_fxt} of the archive, {of_json} of the document"]


def check(trace: Path, engine: Path, name: str, work: Path) -> bool:
    work.mkdir(parents=True, exist_ok=True)
    (work / "trace.json").unlink(missing_ok=True)
    document, archive, back = MAKERS[name](work), work / "trace.fxt", work / "back.json"
    run(trace, "convert", document, "-o", archive)
    run(trace, "check", archive)
    run(trace, "convert", archive, "-o", back)
    before = load(document)
    found = faults(before, load(back)) + perfetto_faults(engine, document, archive)
    phases = Counter(str(event.get("ph")) for event in events(before))
    sizes = f"{os.path.getsize(document)} bytes of JSON, {os.path.getsize(archive)} of FXT"
    print(f"{'FAILED' if found else 'ok'}  {name}: {len(events(before))} events, {sizes}, {dict(phases)}")
    for fault in found[:5]:
        print(f"        {fault[:1000]}")
    print("".join(f"    {line}\n" for line in run(trace, "stats", archive).splitlines()[:6]), flush=True)
    return not found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for option in ("--trace", "--engine", "--work"):
        parser.add_argument(option, type=Path, required=True)
    parser.add_argument("names", nargs="*", default=[*MAKERS, *async_programs.PROGRAMS])
    options = parser.parse_args()
    trace, work = options.trace.resolve(), options.work.resolve()
    results = [
        async_programs.check(trace, name, work / name) if name in async_programs.PROGRAMS else check(trace, options.engine, name, work / name)
        for name in options.names
    ]
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
