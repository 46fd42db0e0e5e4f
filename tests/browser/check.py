"""Opens the pages of `trace timeline` for recorded archives in a real browser, and asserts on their content.

Each test runs with light and with dark colours. Screenshots go to the directory of --work.
"""

import argparse
import json
import re
import subprocess
import sys
import traceback
from pathlib import Path

from browser import Browser

sys.path.append(str(Path(__file__).parents[1] / "readers"))
from fxt_bytes import DURATION_COMPLETE, archive, event, record, words  # noqa: E402

HOSTILE = "</script><script>window.hacked=1</script><img src=x onerror=window.hacked=2>\"'&\u202e\u0007"
SHOWN = HOSTILE.replace("\u202e", "\\u{202e}").replace("\u0007", "\\u{7}")


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

    def open(self, browser, name, dark):
        page = browser.open(self.path(f"{name}.html").resolve().as_uri(), dark=dark)
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
    """Returns the heading below the canvas, and the values there by name."""
    pairs = page.run("[...document.querySelectorAll('#details dt')].map((name) => [name.innerText, name.nextElementSibling.innerText])")
    return page.text("#details h2"), dict(pairs)


def nanos(text):
    return int(re.match(r"[\d\u202f]+", text)[0].replace("\u202f", ""))


def find(page, text, place=0):
    """Returns the box of the event that `text` finds, in pixels of the window: left, top, width, height."""
    script = f"(() => {{ const box = timeline.box(timeline.find({json.dumps(text)})[{place}].item); return [box.x, box.y, box.width, box.height]; }})()"
    [x, y, width, height] = page.run(script)
    [left, top] = page.run("(() => { const box = document.getElementById('canvas').getBoundingClientRect(); return [box.x, box.y]; })()")
    return x + left, y + top, width, height


def longest_of(work, page, name):
    """Returns the longest duration of that name in the trace `search`, and its index in the matches of `name`."""
    longest = max((entry for entry in work.durations("search") if entry[0] == name), key=lambda entry: entry[1])
    lengths = page.run(f"timeline.find({json.dumps(name)}).map(({{heading, pairs}}) => [heading, pairs.find(([name]) => name === 'duration')?.[1]])")
    return longest, [place for place, (heading, length) in enumerate(lengths) if heading == name and nanos(length) == longest[1]][0]


def click_on(page, text, place=0):
    x, y, width, height = find(page, text, place)
    page.click(x + width / 2, y + height / 2)


def search_for(page, text):
    page.press("/")
    page.run("document.getElementById('query').select()")
    page.type(text)
    page.press("Enter")


def pixel(page, x, y):
    """Returns red, green and blue of a pixel of the canvas."""
    return page.run(f"[...document.getElementById('canvas').getContext('2d').getImageData({x}, {y}, 1, 1).data].slice(0, 3)")


def is_clean(page, name):
    """Asserts that the page has no errors and made no network requests."""
    assert page.errors == [], page.errors
    assert [address for address in page.requests if not address.endswith(f"/{name}.html")] == [], page.requests


def everything_that_was_recorded(work, browser, dark):
    page = work.open(browser, "search", dark)
    shown = page.run("timeline.find('').filter(({item}) => item.place !== undefined).map(({heading, pairs, arguments: entries}) => "
                     "[heading, pairs.find(([name]) => name === 'duration')[1], entries])")
    shown = sorted((name, nanos(length), sorted(dict(arguments).items())) for name, length, arguments in shown)
    recorded = sorted((name, length, sorted(arguments.items())) for name, length, arguments in work.durations("search"))
    assert len(recorded) > 20 and shown == recorded, (shown, recorded)
    assert page.text("#summary").startswith(f"{len(recorded)} durations, "), page.text("#summary")
    rows = page.run("timeline.rows()")
    assert re.fullmatch(r"file_search \(\d+\)", rows[0][0]) and "queue" in rows[0] and any(row.startswith("worker 0 ") for row in rows[0]), rows
    assert page.run("timeline.arrows().length") > 0
    page.screenshot(work.path(f"search-{dark}.png"))
    is_clean(page, "search")


def colours_follow_the_system_and_the_switch(work, browser, dark):
    page = work.open(browser, "search", dark)
    bright = lambda: sum(pixel(page, 1000, 500)) > 384
    assert bright() != dark
    page.run("document.getElementById('theme').click()")
    page.settle()
    assert bright() == dark
    assert page.run("document.documentElement.dataset.theme") == ("light" if dark else "dark")
    page.set_dark(not dark)
    page.settle()
    page.set_dark(dark)
    page.settle()
    assert bright() != dark


def a_click_shows_all_details(work, browser, dark):
    page = work.open(browser, "search", dark)
    longest, place = longest_of(work, page, "read")
    click_on(page, "read", place)
    heading, values = details(page)
    assert heading == "read" and nanos(values["duration"]) == longest[1], (heading, values)
    assert nanos(values["end"]) - nanos(values["begin"]) == longest[1]
    assert longest[2].items() <= values.items(), (longest, values)
    x, y, width, height = find(page, "read", place)
    page.move(x + width / 2, y + height / 2)
    assert page.text("#tip").startswith("read\n"), page.text("#tip")
    # A click outside of all events clears the selection.
    page.click(1000, 600)
    assert page.text("#details").startswith("Click an event")
    is_clean(page, "search")


def zoom_pan_and_fit(work, browser, dark):
    page = work.open(browser, "search", dark)
    # A short event can be under the pointer together with its neighbours.
    _, place = longest_of(work, page, "matching lines")
    before = find(page, "matching lines", place)
    for _ in range(3):
        page.wheel(before[0] + before[2] / 2, before[1], -100, control=True)
    zoomed = find(page, "matching lines", place)
    assert zoomed[2] > 2 * before[2], (before, zoomed)
    page.drag(600, 500, 700, 500)
    assert abs(find(page, "matching lines", place)[0] - zoomed[0] - 100) < 2
    page.press("d")
    assert abs(find(page, "matching lines", place)[0] - zoomed[0]) < 2
    page.press("0")
    assert abs(find(page, "matching lines", place)[0] - before[0]) < 2
    page.press("w")
    assert find(page, "matching lines", place)[2] > 1.2 * before[2]
    page.press("s")
    click_on(page, "matching lines", place)
    page.press("f")
    x, _, width, _ = find(page, "matching lines", place)
    assert 200 < width < 400 and 400 < x < 900, (x, width)
    page.screenshot(work.path(f"zoomed-{dark}.png"))
    is_clean(page, "search")


def search_and_keys(work, browser, dark):
    page = work.open(browser, "search", dark)
    reads = sorted(length for name, length, _ in work.durations("search") if name == "search file")
    search_for(page, "search file")
    assert page.text("#matches") == f"1 of {len(reads)}", page.text("#matches")
    heading, first = details(page)
    assert heading == "search file"
    found = [nanos(first["duration"])]
    page.run("document.getElementById('canvas').focus()")
    for _ in reads[1:]:
        page.press("n")
        found.append(nanos(details(page)[1]["duration"]))
    assert sorted(found) == reads
    page.press("n")
    assert details(page)[1] == first
    # Arguments are searched too.
    argument = next(value for _, _, arguments in work.durations("search") for value in arguments.values() if value.endswith(".md"))
    search_for(page, argument)
    assert argument in details(page)[1].values(), details(page)
    page.press("Escape")
    assert page.text("#matches") == ""
    page.press("Escape")
    page.press(".")
    assert details(page)[0] == "search", details(page)
    page.press("?")
    assert page.run("!document.getElementById('help').hidden")
    is_clean(page, "search")


def losses_are_shown(work, browser, dark):
    report = json.loads(work.run("check", "--json", work.path("lossy.fxt"), codes=(0, 3)))
    page = work.open(browser, "lossy", dark)
    values = page.text("#notes")
    lost = int(re.search(r"(\d+) records? lost", values)[1])
    assert lost > 0 and str(lost) in json.dumps(report), (values, report)
    page.press("l")
    heading, pairs = details(page)
    assert re.fullmatch(r"\d+ records? lost", heading) and pairs["reason"], (heading, pairs)
    losses = page.run("timeline.find(' lost: ').map(({heading}) => parseInt(heading))")
    assert sum(losses) == lost, losses
    page.screenshot(work.path(f"lossy-{dark}.png"))
    x, y, width, height = find(page, " lost: ")
    page.click(x + width / 2, y + height - 1)
    assert details(page)[0] == heading
    is_clean(page, "lossy")


def every_kind_of_event(work, browser, dark):
    page = work.open(browser, "every", dark)
    kinds = set(page.run("timeline.find('').flatMap(({pairs}) => pairs.filter(([name]) => name === 'kind').map(([, kind]) => kind))"))
    assert {"instant", "instant of the whole trace", "log message", "blob"} <= kinds, kinds
    rows = [row for group in page.run("timeline.rows()") for row in group]
    assert {"queue of the device", "request", "counter", "counter 0x1"} <= set(rows), rows
    values = page.run("timeline.find('counter').filter(({item}) => item.series).map(({heading}) => heading)")
    assert any(heading.startswith("counter: value = ") for heading in values), values
    click_on(page, "guarded request")
    assert details(page)[0] == "guarded request"
    page.screenshot(work.path(f"every-{dark}.png"))
    is_clean(page, "every")


def tasks_have_rows(work, browser, dark):
    page = work.open(browser, "tasks", dark)
    statistics = json.loads(work.run("stats", "--json", work.path("tasks.fxt")))
    # Unfinished operations are drawn, but not in the statistics.
    opened = re.search(r"operations whose end is missing.*: (\d+)", page.text("#notes"))
    count = sum(row["count"] for row in statistics["durations"] + statistics["async"]) + int(opened[1] if opened else 0)
    assert page.text("#summary").startswith(f"{count} durations, "), (page.text("#summary"), count)
    group = page.run("timeline.rows()")[0]
    assert "crawl" in group and "page" in group, group
    page.screenshot(work.path(f"tasks-{dark}.png"))
    before = find(page, "crawl")
    # A click on the process's name folds its rows, another one unfolds them.
    top = page.run("document.getElementById('canvas').getBoundingClientRect().y")
    page.click(60, top + 35)
    page.click(60, top + 35)
    assert find(page, "crawl") == before
    is_clean(page, "tasks")


def cpus_have_rows(work, browser, dark):
    page = work.open(browser, "cpus", dark)
    assert page.run("timeline.rows()") == [["CPUs", "CPU 0", "CPU 5"], ["process 7", "thread 8"]]
    assert page.text("#summary").startswith("4 durations, 1 point, "), page.text("#summary")
    click_on(page, "thread 9")
    heading, values = details(page)
    assert heading == "thread 9" and values["on"] == "CPU 5" and nanos(values["duration"]) == 3000, (heading, values)
    before = find(page, "wake-up")
    click_on(page, "wake-up")
    assert find(page, "wake-up") == before, "a click does not move what is seen"
    heading, values = details(page)
    assert heading == "wake-up" and values["thread"] == "#9" and values["on"] == "CPU 5", (heading, values)
    page.screenshot(work.path(f"cpus-{dark}.png"))
    is_clean(page, "cpus")


def scheduling():
    """An archive with the schedule of two CPUs."""
    switch = lambda cpu, ticks, outgoing, incoming: record(8 | cpu << 20 | 1 << 60, words(ticks, outgoing, incoming))
    wakeup = record(8 | 5 << 20 | 2 << 60, words(1500, 9))
    return archive(switch(0, 1000, 0, 8), switch(0, 4000, 8, 10), switch(0, 6000, 10, 0), wakeup, switch(5, 2000, 0, 9), switch(5, 5000, 9, 0),
                   event(DURATION_COMPLETE, 1000, tail=(4000,))).read()


def hostile_texts_are_texts(work, browser, dark):
    page = work.open(browser, "hostile", dark)
    search_for(page, "onerror")
    heading, pairs = details(page)
    assert heading == SHOWN and pairs[SHOWN] == SHOWN and pairs["category"] == SHOWN, (heading, pairs)
    x, y, width, height = find(page, "onerror")
    page.move(x + width / 2, y + height / 2)
    assert SHOWN in page.text("#tip")
    assert page.run("window.hacked === undefined && document.images.length === 0 && document.scripts.length === 1")
    is_clean(page, "hostile")
    # Content that is inserted into the page does not run either.
    page.run("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.hacked=3\"><div onclick=\"window.hacked=4\" id=trap></div>')")
    page.run("document.getElementById('trap').click()")
    page.settle()
    assert page.run("window.hacked === undefined") and page.errors, page.errors


def svg_is_a_picture(work, browser, dark):
    for name in ["search", "hostile"]:
        work.run("timeline", work.path(f"{name}.fxt"), "-o", work.path(f"{name}.svg"))
        page = browser.open(work.path(f"{name}.svg").resolve().as_uri(), dark=dark)
        page.wait("document.documentElement.tagName === 'svg'")
        page.screenshot(work.path(f"{name}-svg-{dark}.png"))
        titles = page.run("[...document.querySelectorAll('title')].map((title) => title.textContent)")
        expected = SHOWN if name == "hostile" else "search: read"
        assert any(expected in title for title in titles), titles
        assert page.run("document.scripts === undefined || document.scripts.length === 0") and page.run("window.hacked === undefined")
        assert page.errors == [], page.errors


def arrows_do_not_hide_the_picture(work, browser, dark):
    page = work.open(browser, "arrows", dark)
    assert page.text("#arrows").startswith(f"{ARROWS} arrows: zoom in"), page.text("#arrows")
    drawn = lambda: page.run("timeline.drawnArrows()")
    assert drawn() == [0, 0], drawn()
    page.screenshot(work.path(f"arrows-{dark}.png"))
    # A selected duration shows its own arrow.
    page.run("document.getElementById('canvas').focus()")
    click_on(page, "send", 500)
    assert details(page)[0] == "send" and drawn() == [1, 0], drawn()
    page.press("f")
    [own, rest] = drawn()
    assert own == 1 and rest < 10 and page.text("#arrows") == "", drawn()
    page.screenshot(work.path(f"arrow-{dark}.png"))
    page.press("Escape")
    assert drawn() == [0, rest + 1], drawn()
    page.press("r")
    assert drawn() == [0, 0] and "switched off" in page.text("#arrows"), page.text("#arrows")
    page.press("r")
    assert drawn() == [0, rest + 1], drawn()
    page.press("?")
    assert "arrows off" in page.text("#help")
    # The data that the archive keeps for its JSON has no note.
    assert page.text("#notes") == "", page.text("#notes")
    is_clean(page, "arrows")


def only_matches_stay_bright(work, browser, dark):
    page = work.open(browser, "arrows", dark)
    search_for(page, "only-500")
    page.run("document.getElementById('canvas').focus()")
    for key in ["f", "s", "r", "/", "Escape", "Escape"]:
        page.press(key)

    def colour(place):
        # Inside the edge, where no letter is.
        x, y, width, height = page.run(f"(() => {{ const box = timeline.box(timeline.find('send')[{place}].item); return [box.x, box.y, box.width, box.height]; }})()")
        ratio = page.run("devicePixelRatio")
        return pixel(page, int((x + width * 0.75) * ratio), int((y + 2) * ratio))

    bright = colour(500)
    assert colour(501) == bright
    page.press("/")
    page.type("only-500")
    page.wait("document.getElementById('matches').textContent === '1 found'")
    page.settle()
    page.screenshot(work.path(f"found-{dark}.png"))
    assert colour(500) == bright and colour(501) != bright, (bright, colour(500), colour(501))
    is_clean(page, "arrows")


ARROWS = 900


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


TESTS = [everything_that_was_recorded, colours_follow_the_system_and_the_switch, a_click_shows_all_details, zoom_pan_and_fit, search_and_keys, losses_are_shown,
         every_kind_of_event, tasks_have_rows, cpus_have_rows, hostile_texts_are_texts, svg_is_a_picture, arrows_do_not_hide_the_picture,
         only_matches_stay_bright]


def prepare(work):
    work.record("search", "file_search", "the", Path(__file__).parents[2] / "docs")
    work.record("every", "every_macro")
    work.record("tasks", "async_tasks")
    work.record("lossy", "known_events", options=["-m", "oneshot", "-b", "64K"])
    event = {"ph": "X", "pid": 1, "tid": 2, "ts": 10, "dur": 5, "cat": HOSTILE, "name": HOSTILE, "args": {HOSTILE: HOSTILE}}
    name = {"ph": "M", "pid": 1, "name": "process_name", "args": {"name": HOSTILE}}
    work.path("hostile.json").write_text(json.dumps([name, event]))
    work.run("convert", work.path("hostile.json"), "-o", work.path("hostile.fxt"))
    work.page("hostile")
    work.path("arrows.json").write_text(json.dumps(list(sends())))
    work.run("convert", work.path("arrows.json"), "-o", work.path("arrows.fxt"))
    work.page("arrows")
    work.path("cpus.fxt").write_bytes(scheduling())
    work.page("cpus")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trace", type=Path, required=True)
    parser.add_argument("--programs", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    work = Work(options.trace, options.programs, options.work)
    prepare(work)
    failed = 0
    with Browser() as browser:
        for test in TESTS:
            for dark in [False, True]:
                try:
                    test(work, browser, dark)
                except Exception:
                    failed += 1
                    print(f"{test.__name__}, {'dark' if dark else 'light'}:", file=sys.stderr)
                    traceback.print_exc()
    print(f"{2 * len(TESTS) - failed} passed, {failed} failed")
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
