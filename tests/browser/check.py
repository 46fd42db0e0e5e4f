"""Opens the pages of `trace timeline` for recorded archives in Chromium and Firefox, and asserts on their content.

Each test here runs with light and with dark colours, those of `gestures.py`, `keyboard.py` and `limits.py` once. Screenshots go to the directory of --work.
"""

import argparse
import json
import re
import sys
import traceback
from pathlib import Path

import gestures
import keyboard
import limits
from browser import Browser
from firefox import Firefox
from work import SHOWN, Work, canvas_top, click_on, details, find, is_clean, longest_of, nanos, pixel, prepare, search_for


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
    # A click outside of all events clears the selection, and the panel takes no space.
    page.click(1000, 600)
    assert page.is_hidden("#details")
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
    # The pages are in the row of the operation that began them.
    assert "crawl" in group and "page" not in group, group
    page.screenshot(work.path(f"tasks-{dark}.png"))
    before = find(page, "crawl")
    # A click on the process's name folds its rows, another one unfolds them.
    top = canvas_top(page)
    page.click(60, top + 35)
    page.click(60, top + 35)
    assert find(page, "crawl") == before
    is_clean(page, "tasks")


def cpus_have_rows(work, browser, dark):
    page = work.open(browser, "cpus", dark)
    assert page.run("timeline.rows()") == [["CPUs", "CPU 0", "CPU 5"], ["process 7", "thread 8"]]
    assert page.text("#summary").startswith("4 durations, 1 point in "), page.text("#summary")
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


TESTS = [everything_that_was_recorded, colours_follow_the_system_and_the_switch, a_click_shows_all_details, losses_are_shown, every_kind_of_event,
         tasks_have_rows, cpus_have_rows, hostile_texts_are_texts, svg_is_a_picture]


def run(test, *arguments):
    """Returns whether a test passes."""
    try:
        test(*arguments)
        return True
    except Exception:
        print(f"{test.__name__}, {arguments[1].name}, {'dark' if arguments[-1] is True else 'light'}:", file=sys.stderr)
        traceback.print_exc()
        return False


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trace", type=Path, required=True)
    parser.add_argument("--programs", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--only", default="", help="a part of the tests' names")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    work = Work(options.trace, options.programs, options.work)
    prepare(work)
    results = []
    for kind in [Browser, Firefox]:
        with kind() as browser:
            results += [run(test, work, browser, dark) for test in TESTS for dark in [False, True] if options.only in test.__name__]
            results += [run(test, work, browser) for test in gestures.TESTS + keyboard.TESTS + limits.TESTS if options.only in test.__name__]
    print(f"{sum(results)} passed, {results.count(False)} failed")
    return int(not all(results))


if __name__ == "__main__":
    sys.exit(main())
