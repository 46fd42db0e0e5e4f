"""Fails if a crate or a module uses one that ARCHITECTURE.md lists after it, or that it does not list.

The rows of the table in the section "Crates" are the order of crates; dependencies of tests are
exempt. The section "Modules" has the groups of a crate's modules, lowest first: a module uses those
of earlier groups only.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

from circles import Crate, of_modules

METADATA = ["cargo", "metadata", "--locked", "--no-deps", "--format-version", "1"]
TEXT = Path("ARCHITECTURE.md").read_text(encoding="utf-8")


def rows(title):
    """Returns the cells of the first table in a section."""
    table = re.search(r"^\|---.*\n((?:\|.*\n)+)", TEXT.split(f" {title}\n", 1)[1], re.MULTILINE)
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in table[1].splitlines()]


def names(cell):
    return re.findall("`([^`]+)`", cell)


def wrong_crates():
    order = {name: row for row, (cell, *_) in enumerate(rows("Crates")) for name in names(cell)}
    for package in json.loads(subprocess.check_output(METADATA))["packages"]:
        folder = Path(package["manifest_path"]).parent
        if not (folder / "src").exists():
            continue
        needed = [d for d in package["dependencies"] if d.get("path") and d["kind"] != "dev"]
        for name in [folder.name, *(Path(d["path"]).name for d in needed)]:
            if name not in order:
                yield f"ARCHITECTURE.md: lacks the crate {name}"
            elif order[name] > order.get(folder.name, -1):
                yield f"{folder.name}: depends on {name}, which is listed below it"


def wrong_modules():
    for cell, groups in rows("Modules"):
        (crate,) = names(cell)
        order = {
            name: place for place, group in enumerate(groups.split("→")) for name in names(group)
        }
        source = Crate(Path(crate) / "src")
        edges = of_modules({file: source.edges(file) for file in source.files})
        for module, others in edges.items():
            if module not in order:
                yield f"ARCHITECTURE.md: lacks the module {module} of {crate}"
                continue
            for other in others:
                if order.get(other, -1) >= order[module]:
                    yield f"{crate}: {module} uses {other}, which is not listed before it"


wrong = [*wrong_crates(), *wrong_modules()]
for line in wrong:
    print(line, file=sys.stderr)
sys.exit(bool(wrong))
