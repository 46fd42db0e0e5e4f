"""Archives, their pages, and what the tests of `trace timeline` read from a page."""

import json
import re
import subprocess
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "readers"))
from fxt_bytes import DURATION_COMPLETE, archive, event, record, words  # noqa: E402

HOSTILE = "</script><script>window.hacked=1</script><img src=x onerror=window.hacked=2>\"'&\u202e\u0007"
SHOWN = HOSTILE.replace("\u202e", "\\u{202e}").replace("\u0007", "\\u{7}")
ARROWS = 900
BOXES = 2_000
INSTANTS, LOSSES, FLOWS = 110_000, 20_000, 3_000


class Work:
    """Makes archives and pages."""

    def __init__(self, trace, programs, directory):
        self.trace, self.programs, self.directory = trace, programs, directory

    def path(self, name):
        return self.directory / name

    def run(self, *arguments, codes=(0,)):
        result = subprocess.run([self.trace, *map(str, arguments)], capture_output=True, text=True)
        assert result.returncode in codes, (arguments, result)
        return result.stdout

    def record(self, name, program, *arguments, options=()):
        self.run("record", "-o", self.path(f"{name}.fxt"), *options, "--", self.programs / program, *arguments)
        self.page(name)

    def page(self, name):
        self.run("timeline", self.path(f"{name}.fxt"), "-o", self.path(f"{name}.html"))

    def open(self, browser, name, dark=False, width=1280, height=800):
        page = browser.open(self.path(f"{name}.html").resolve().as_uri(), width, height, dark)
        page.wait("window.timeline !== undefined")
        page.settle()
        return page

    def durations(self, name):
        """Returns name, length and arguments of all complete durations, from `trace dump`."""
        line = re.compile(r'duration-complete \S+ \S+ "[^"]*" ("(?:[^"\\]|\\.)*") (\d+)ns(?: (\{.*\}))?$')
        for match in filter(None, map(line.search, self.run("dump", self.path(f"{name}.fxt")).splitlines())):
            arguments = json.loads(match[3] or "{}")
            yield json.loads(match[1]), int(match[2]), {key: str(value) for key, value in arguments.items()}


def details(page):
    """Returns the heading of the panel, and the values there by name."""
    pairs = page.run("[...document.querySelectorAll('#details dt')].map((name) => [name.innerText, name.nextElementSibling.innerText])")
    return page.text("#details h2"), dict(pairs)


def nanos(text):
    """Returns the nanoseconds of a text such as `1.5 µs (1 500 ns)` or `850 ns`."""
    return int(re.search(r"([\d\u202f]+) ns\)?$", text)[1].replace("\u202f", ""))


def find(page, text, place=0):
    """Returns the box of the event that `text` finds, in pixels of the window: left, top, width, height."""
    script = f"(() => {{ const box = timeline.box(timeline.find({json.dumps(text)})[{place}].item); return [box.x, box.y, box.width, box.height]; }})()"
    [x, y, width, height] = page.run(script)
    [left, top] = page.run("(() => { const box = document.getElementById('canvas').getBoundingClientRect(); return [box.x, box.y]; })()")
    return x + left, y + top, width, height


def canvas_top(page):
    return page.run("document.getElementById('canvas').getBoundingClientRect().y")


def box(page, name, place=0):
    """Returns the position of the middle, the width and the height of the event that a name finds."""
    x, y, width, height = find(page, name, place)
    return x + width / 2, y + height / 2, width, height


def view(page):
    """Returns the first and the last time in view, and the rows above it in pixels."""
    return page.run("timeline.view()")


def longest_of(work, page, name):
    """Returns the longest duration of that name in the trace `search`, and its index in the matches of `name`."""
    longest = max((entry for entry in work.durations("search") if entry[0] == name), key=lambda entry: entry[1])
    lengths = page.run(f"timeline.find({json.dumps(name)}).map(({{heading, pairs}}) => [heading, pairs.find(([name]) => name === 'duration')?.[1]])")
    return longest, [place for place, (heading, length) in enumerate(lengths) if heading == name and nanos(length) == longest[1]][0]


def click_on(page, text, place=0):
    x, y, width, height = find(page, text, place)
    page.click(x + width / 2, y + height / 2)


def search_for(page, text):
    page.run("document.getElementById('query').select()")
    page.type(text)
    page.press("Enter")
    page.wait("/^\\d+ of |^0 found/.test(document.getElementById('matches').textContent)")
    page.settle()


def pixel(page, x, y):
    """Returns red, green and blue of a pixel of the canvas."""
    return page.run(f"[...document.getElementById('canvas').getContext('2d').getImageData({x}, {y}, 1, 1).data].slice(0, 3)")


def is_clean(page, name):
    """Asserts that the page has no errors and made no network requests."""
    assert page.errors == [], page.errors
    assert [address for address in page.requests if not address.endswith(f"/{name}.html")] == [], page.requests


def scheduling():
    """An archive with the schedule of two CPUs."""
    switch = lambda cpu, ticks, outgoing, incoming: record(8 | cpu << 20 | 1 << 60, words(ticks, outgoing, incoming))
    wakeup = record(8 | 5 << 20 | 2 << 60, words(1500, 9))
    return archive(switch(0, 1000, 0, 8), switch(0, 4000, 8, 10), switch(0, 6000, 10, 0), wakeup, switch(5, 2000, 0, 9), switch(5, 5000, 9, 0),
                   event(DURATION_COMPLETE, 1000, tail=(4000,))).read()


def sends():
    """Durations of a thread, each with an arrow to one of another thread."""
    for number in range(ARROWS):
        at, thread = 100 * number, {"pid": 1, "tid": 2}
        other = {"pid": 1, "tid": 3}
        flow = {"cat": "c", "name": "f", "id": number}
        yield {"ph": "X", **thread, "ts": at, "dur": 60, "cat": "c", "name": "send", "args": {"to": f"only-{number}"}}
        yield {"ph": "s", **thread, **flow, "ts": at + 10}
        yield {"ph": "X", **other, "ts": at + 30, "dur": 40, "cat": "c", "name": "take"}
        yield {"ph": "f", "bp": "e", **other, **flow, "ts": at + 40}


def chain():
    """A flow through seven durations of two threads."""
    for number in range(7):
        common = {"pid": 1, "tid": 2 + number % 2, "cat": "c"}
        yield {"ph": "X", **common, "name": "poll", "ts": 100 * number, "dur": 50, "args": {"number": number}}
        yield {"ph": "s" if number == 0 else "t", **common, "name": "f", "id": 5, "ts": 100 * number + 10}


def operations():
    """Two requests at a time, each with a user and queries, and calls of a function by itself."""
    for number in range(2):
        at, root = 100 + 50 * number, 100 * (number + 1)
        for name, id, parent, begin, end in [("request", root, None, 0, 300), ("user", root + 1, root, 20, 200), ("query", root + 2, root + 1, 40, 90),
                                             ("query", root + 3, root + 1, 100, 150)]:
            common = {"pid": 1, "tid": 2, "cat": "c", "name": name, "id": hex(id)}
            values = {"path": f"/{name}/{id}", **({"parent": parent} if parent else {})}
            yield {"ph": "b", "ts": at + begin, **common, "args": values}
            yield {"ph": "e", "ts": at + end, **common}
    for depth in range(3):
        yield {"ph": "X", "pid": 1, "tid": 2, "cat": "c", "name": "walk", "ts": 100 + 10 * depth, "dur": 400 - 100 * depth}


def distant():
    """A duration at 0, and one 2^53 ns and more later."""
    for name, at, length in [("zero", 0, 10), ("short", 1763830000000000, 0.01)]:
        yield {"ph": "X", "pid": 1, "tid": 2, "cat": "c", "name": name, "ts": at, "dur": length}


def dense():
    """Eight threads with a duration of each of two names for each pixel, and one of a quarter of the time."""
    for thread in range(8):
        for number in range(BOXES):
            yield {"ph": "X", "pid": 1, "tid": 2 + thread, "ts": number, "dur": 1, "cat": "c", "name": ["even", "odd"][number % 2]}
    yield {"ph": "X", "pid": 1, "tid": 1, "ts": 0, "dur": BOXES / 4, "cat": "c", "name": "wide"}


def crowded():
    """Instants of the whole trace, losses, and arrows of one duration."""
    thread = {"pid": 1, "tid": 2}
    for number in range(INSTANTS):
        yield {"ph": "i", "s": "g", **thread, "ts": number, "cat": "c", "name": "tick"}
    for number in range(LOSSES):
        values = {"from": 5000 * number, "to": 5000 * number + 2000, "number": 2, "reason": "full"}
        yield {"ph": "i", "s": "t", **thread, "ts": 5 * number, "cat": "trace", "name": "records dropped", "args": values}
    yield {"ph": "X", **thread, "ts": 0, "dur": INSTANTS, "cat": "c", "name": "send"}
    for number in range(FLOWS):
        flow = {"cat": "c", "name": "f", "id": number}
        yield {"ph": "s", **thread, **flow, "ts": 10 * number}
        yield {"ph": "X", "pid": 1, "tid": 3, "ts": 10 * number + 5, "dur": 4, "cat": "c", "name": "take"}
        yield {"ph": "f", "bp": "e", "pid": 1, "tid": 3, **flow, "ts": 10 * number + 6}


def prepare(work):
    work.record("search", "file_search", "the", Path(__file__).parents[2] / "docs")
    work.record("every", "every_macro")
    work.record("tasks", "async_tasks")
    work.record("lossy", "known_events", options=["-m", "oneshot", "-b", "64K"])
    event = {"ph": "X", "pid": 1, "tid": 2, "ts": 10, "dur": 5, "cat": HOSTILE, "name": HOSTILE, "args": {HOSTILE: HOSTILE}}
    name = {"ph": "M", "pid": 1, "name": "process_name", "args": {"name": HOSTILE}}
    for document, events in [("hostile", [name, event]), ("arrows", list(sends())), ("chain", list(chain())), ("operations", list(operations())),
                             ("distant", list(distant())), ("dense", list(dense())), ("crowded", list(crowded()))]:
        work.path(f"{document}.json").write_text(json.dumps(events))
        work.run("convert", work.path(f"{document}.json"), "-o", work.path(f"{document}.fxt"))
        work.page(document)
    work.path("cpus.fxt").write_bytes(scheduling())
    work.page("cpus")
