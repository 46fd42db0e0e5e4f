"""Measures the page of `trace timeline` for a million durations, in Chromium and Firefox. Nothing fails on a time.

    tests/browser/speed.py --trace target/release/trace --work target/browser

Prints a table for docs/benchmarks.md. A time to load is that from the start of the navigation until the durations are drawn.
"""

import argparse
import random
import statistics
import subprocess
import sys
from pathlib import Path

from browser import Browser
from firefox import Firefox

sys.path.append(str(Path(__file__).parents[1] / "readers"))
from fxt_bytes import DURATION_COMPLETE, MAGIC, initialization, provider, record, text, words  # noqa: E402

DURATIONS = 1_000_000
THREADS = [1, 60]
LOADS = 5
SIZES = [(1280, 800), (3840, 2160)]
NAMES = ["request", "parse", "query", "read", "write", "lock", "encode", "flush"]

# Zooms in and out for 240 frames around a third of the width. Returns the times of the frames and of drawing.
MOVE = """new Promise((done) => {
  const {page} = timeline, frames = [], draws = [];
  const step = (time) => {
    frames.push(time);
    draws.push(page.drawTime);
    page.scene.zoom(frames.length % 120 < 60 ? 0.85 : 1 / 0.85, page.scene.width / 3);
    page.redraw();
    if (frames.length < 240) requestAnimationFrame(step);
    else done([frames.slice(1).map((time, frame) => time - frames[frame]), draws]);
  };
  requestAnimationFrame(step);
})"""

# Zooms in over 60 views and draws each five times, moved by some pixels. Returns the shortest time of each view until its pixels can be
# read: other load of the machine delays some of the frames, but not all.
VIEWS = """(async () => {
  const {page} = timeline, {scene} = page, times = [];
  const contexts = [page.painter.context, page.overview.context];
  scene.showAll();
  for (let view = 0; view < 60; view++) {
    scene.zoom(0.85, scene.width / 3);
    let best = Infinity;
    for (let turn = 0; turn < 5; turn++) {
      await new Promise(requestAnimationFrame);
      scene.pan(turn % 2 ? 3 : -3);
      const begin = performance.now();
      page.draw();
      for (const context of contexts) context.getImageData(0, 0, 1, 1);
      best = Math.min(best, performance.now() - begin);
    }
    times.push(best);
  }
  return times;
})()"""

TIMED = "(() => {{ const begin = performance.now(); {}; return performance.now() - begin; }})()"


def archive(threads):
    """Threads with requests of nine nested durations, each request with an argument."""
    random.seed(7)
    string = lambda number, value: record(2 | number << 16 | len(value) << 32, text(value))
    header = lambda thread, name, arguments: 4 | DURATION_COMPLETE << 16 | arguments << 20 | thread << 24 | 1 << 32 | (2 + name) << 48
    parts = [words(MAGIC), provider(), initialization(), string(1, "app"), *(string(2 + number, name) for number, name in enumerate(NAMES)),
             string(20, "index"), *(record(3 | thread << 16, words(7, 7 + thread)) for thread in range(1, 1 + threads))]
    for thread in range(1, 1 + threads):
        at = 0
        for count in range(0, DURATIONS // threads, 10):
            begin, children = at, []
            at += random.randrange(50, 300)
            for number in range(9):
                end = at + random.randrange(20, 2000)
                children.append(record(header(thread, 1 + number % 7, 0), words(at, end)))
                at = end + random.randrange(5, 200)
            index = record(1 | 20 << 16 | (count & 0xffff) << 32)
            parts += [record(header(thread, 0, 1), words(begin), index, words(at)), *children]
            at += random.randrange(100, 5000)
    return b"".join(parts)


def measured(browser, pages):
    """Returns rows: what, and the milliseconds."""
    loads = []
    for _ in range(LOADS):
        page = browser.open(pages[1])
        page.wait("window.timeline !== undefined")
        loads.append(page.run("timeline.drawn"))
        page.close()
    yield "load and draw, median", statistics.median(loads)
    for threads, address in pages.items():
        for width, height in SIZES:
            page = browser.open(address, width, height)
            page.wait("window.timeline !== undefined")
            page.settle()
            frames, draws = page.run(MOVE)
            ordered, what = sorted(draws), f"{counted(threads)}, {width} × {height}"
            yield f"draw a frame, {what}, median", statistics.median(draws)
            yield f"draw a frame, {what}, P99", ordered[int(len(ordered) * 0.99)]
            yield f"between frames, {what}, median", statistics.median(frames)
            if (width, height) == SIZES[-1]:
                views = sorted(page.run(VIEWS))
                yield f"best of 5 frames of a view, {what}, median of 60 views", statistics.median(views)
                yield f"best of 5 frames of a view, {what}, P90 of 60 views", views[int(len(views) * 0.9)]
            if threads == 1 and (width, height) == SIZES[0]:
                yield "sums of a range of all", page.run(TIMED.format("timeline.page.mark()"))
                yield "search in all", page.run(TIMED.format("timeline.count('enc')"))
            page.close()


def counted(threads):
    return "1 thread" if threads == 1 else f"{threads} threads"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trace", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    pages = {}
    for threads in THREADS:
        trace, page = options.work / f"million-{threads}.fxt", options.work / f"million-{threads}.html"
        trace.write_bytes(archive(threads))
        subprocess.run([options.trace, "timeline", trace, "-o", page], check=True, stderr=subprocess.DEVNULL)
        print(f"{counted(threads)}: a page of {page.stat().st_size / 1e6:.1f} MB")
        pages[threads] = page.resolve().as_uri()
    columns = []
    for kind in [Browser, Firefox]:
        with kind() as browser:
            columns.append(dict(measured(browser, pages)))
    print("| ms | Chromium | Firefox |\n|---|---|---|")
    for name in columns[0]:
        print(f"| {name} | {columns[0][name]:.1f} | {columns[1][name]:.1f} |")


if __name__ == "__main__":
    sys.exit(main())
