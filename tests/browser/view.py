"""Opens recorded archives with `trace view` in a real browser, in the copy of Perfetto's user interface that `trace view --setup` installs, and
asserts on its content. The same copy replaces the hosted interface.

Screenshots go to the directory of --work.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time
import traceback
from pathlib import Path

from browser import Browser
from check import Work

HOSTED = "https://ui.perfetto.dev"
OTHER = "https://other.example"
UNITS = {"s": 10**9, "ms": 10**6, "µs": 10**3, "ns": 1}


class View:
    """`trace view`, until the end of the `with` block."""

    def __init__(self, work, file, *arguments):
        command = [work.trace, "view", "--no-open", *arguments, work.path(file)]
        end = time.monotonic() + 60
        while True:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            self.address = self.process.stdout.readline().strip()
            if self.address:
                break
            # Another program may use the port of the hosted interface.
            said = self.process.communicate()[1]
            assert "127.0.0.1:9001" in said and time.monotonic() < end, said
            time.sleep(1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.terminate()
        self.process.communicate(timeout=20)

    def open(self, browser):
        """Opens the page, waits until the trace is loaded, and returns the page."""
        page = browser.open(self.address, width=1600, height=1200)
        wait_for_trace(page)
        return page


def wait_for_trace(page):
    page.wait("window.app?.trace !== undefined && document.querySelector('.pf-track__title') !== null")
    settle(page)


def settle(page):
    page.run("waitForPerfettoIdle().then(() => true)")


def click_on(page, element):
    """Clicks in the middle of an element, selected by an expression of JavaScript."""
    page.click(*page.run(f"(() => {{ const box = {element}.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; }})()"))
    settle(page)


def tracks(page):
    """Opens all groups and returns the names and depths of tracks."""
    click_on(page, "document.querySelector('button[title=\"Expand all\"]')")
    return page.run("[...document.querySelectorAll('.pf-track')].map((track) => [track.querySelector('.pf-track__title-popup').textContent, "
                    "parseInt(track.style.getPropertyValue('--depth'))])")


def in_omnibox(page, text, mode=""):
    """Types into the field at the top, as a user would; the mode is chosen by the first letter, alone."""
    click_on(page, "document.querySelector('.pf-omnibox input')")
    page.run("document.querySelector('.pf-omnibox input').select()")
    for part in filter(None, [mode, text]):
        page.type(part)
    page.press("Enter")
    settle(page)


def query(page, sql):
    """Returns the rows of the table that a query shows."""
    in_omnibox(page, sql, mode=":")
    page.wait("document.querySelector('.pf-data-grid .pf-grid__table .pf-grid-cell__content') !== null")
    settle(page)
    cells = page.run("[...document.querySelectorAll('.pf-data-grid .pf-grid-cell__content')].map((cell) => cell.innerText.trim())")
    columns = page.run("document.querySelectorAll('.pf-data-grid .pf-grid-cell-header').length")
    rows = [tuple(cells[start:start + columns]) for start in range(0, len(cells), columns)]
    return rows[1:]


def counts(work, name):
    """Returns the number of durations of each name, from `trace stats`."""
    rows = json.loads(work.run("stats", "--json", work.path(name)))
    return {(row["name"], str(row["count"])) for row in rows["durations"] + rows["async"]}


def slices(page, name):
    """Returns begin, duration, depth and thread of slices, longest first, to find their positions on the page."""
    sql = f"select ts, dur, depth, tid from slice join thread_track on track_id = thread_track.id join thread using (utid) where slice.name = '{name}' order by dur desc"
    return page.run(f"app.trace.engine.query({json.dumps(sql)}).then((result) => {{ const rows = []; for (const row = result.iter({{ts: 0n, dur: 0n, "
                    "depth: 0, tid: 0n}); row.valid(); row.next()) rows.push([row.ts, row.dur, row.depth, row.tid].map(Number)); return rows; })")


def window(page):
    """Returns begin and end of the visible time."""
    begin, length = page.run("(() => { const seen = app.trace.timeline.visibleWindow; return [Number(seen.start.integral), seen.duration]; })()")
    return begin, begin + length


def click_slice(page, at):
    """Clicks on a slice."""
    ts, dur, depth, tid = at
    box = f"[...document.querySelectorAll('.pf-track')].findLast((track) => track.innerText.split(/\\s/).includes('{tid}')).querySelector('.pf-track__canvas')"
    x, y, width = page.run(f"(() => {{ const box = {box}.getBoundingClientRect(); return [box.x, box.y, box.width]; }})()")
    begin, end = window(page)
    page.click(x + (ts + dur / 2 - begin) / (end - begin) * width, y + 12 + 18 * depth)
    settle(page)


def details(page):
    """Returns the details of the selection in the panel below, by name."""
    page.wait("document.querySelector('.pf-details-shell .pf-tree-node') !== null")
    pairs = page.run("[...document.querySelectorAll('.pf-details-shell .pf-tree-node')].map((node) => "
                     "[node.querySelector('.pf-tree-left')?.innerText, node.querySelector('.pf-tree-right')?.innerText])")
    return {name.removesuffix("arrow_drop_down").strip(): value.strip() for name, value in pairs if name and value}


def nanos(text):
    return sum(int(number) * UNITS[unit] for number, unit in re.findall(r"(\d+)(s|ms|µs|ns)", text))


def all_data_is_shown(work, browser):
    with View(work, "every.fxt") as view:
        page = view.open(browser)
        assert page.run("document.title").startswith("every.fxt.pftrace ("), page.run("document.title")
        assert "a message with a number, 7" in page.text(".pf-drawer__panel, .pf-drawer-panel, main"), "the log is open"
        names = {re.sub(r" \d+$", "", name) for name, _ in tracks(page)}
        expected = {"every_macro", "queue of the device", "objects", "blobs", "process events", "global events",
                  "request", "guarded request", "counter:value:0", "counter:square:0"}
        assert expected <= names, expected - names
        # Its parts are joined.
        assert ("large blob", "1") in query(page, "select name, count(*) from slice group by 1")
        page.screenshot(work.path("view-every.png"))
        assert page.requests and all(url.startswith(view.address.split("#")[0].rsplit("/", 2)[0] + "/") for url in page.requests), page.requests
        assert any("is_internal_user" in error and "violates" in error for error in page.errors), page.errors


def a_click_shows_all_details(work, browser):
    with View(work, "search.fxt") as view:
        page = view.open(browser)
        tracks(page)
        click_slice(page, slices(page, "search")[0])
        values = details(page)
        [length] = [length for name, length, _ in work.durations("search") if name == "search"]
        assert values["Name"] == "search" and nanos(values["Duration"]) == length, values
        # The key `f` zooms to the selection, which is then wide enough for a click.
        page.press("f")
        settle(page)
        begin, end = window(page)
        assert length <= end - begin < 10 * length, (begin, end, length)
        click_slice(page, slices(page, "search file")[0])
        values = details(page)
        longest = max((entry for entry in work.durations("search") if entry[0] == "search file"), key=lambda entry: entry[1])
        assert values["Name"] == "search file" and values["Category"] == "search" and nanos(values["Duration"]) == longest[1], (values, longest)
        assert {f"debug.{name}": value for name, value in longest[2].items()}.items() <= values.items(), (values, longest)
        page.screenshot(work.path("view-search.png"))


def zoom_and_search(work, browser):
    with View(work, "search.fxt") as view:
        page = view.open(browser)
        seen = "app.trace.timeline.visibleWindow.duration"
        whole = page.run(seen)
        x, y = page.run("(() => { const box = document.querySelector('.pf-track__canvas').getBoundingClientRect(); return [box.x + 400, box.y + 5]; })()")
        page.move(x, y)
        page.wheel(x, y, -200, control=True)
        page.wait(f"{seen} < {whole}")
        zoomed = page.run(seen)
        page.press("w", until=f"{seen} < {zoomed}")
        page.press("s", until=f"{seen} > {zoomed}")
        number = dict(counts(work, "search.fxt"))["matching lines"]
        in_omnibox(page, "matching lines")
        page.wait(f"document.querySelector('.pf-omnibox__stepthrough-current')?.innerText === '1 / {number}'")
        assert details(page)["Name"] == "matching lines"
        rows = query(page, "select name, count(*) from slice where category in ('queue', 'search', 'walk') and name != 'done' group by 1")
        assert set(rows) == counts(work, "search.fxt"), (rows, counts(work, "search.fxt"))
        page.screenshot(work.path("view-query.png"))


def tasks_are_within_those_that_began_them(work, browser):
    with View(work, "tasks.fxt") as view:
        page = view.open(browser)
        shown = tracks(page)
        page.screenshot(work.path("view-tasks.png"))
        places = [place for place, (name, _) in enumerate(shown) if name == "crawl"]
        assert places, shown
        depth = shown[places[0]][1]
        below = []
        for name, its in shown[places[0] + 1:]:
            if its <= depth:
                break
            below.append((name, its - depth))
        assert ("page", 1) in below and ("picture", 2) in below, below


def json_is_shown_as_it_is(work, browser):
    work.run("convert", work.path("search.fxt"), "-o", work.path("search.json.gz"))
    with View(work, "search.json.gz") as view:
        page = view.open(browser)
        assert page.run("document.title").startswith("search.json ("), page.run("document.title")
        number = dict(counts(work, "search.fxt"))["matching lines"]
        assert query(page, "select count(*) from slice where name = 'matching lines'") == [(number,)]


def it_ends_when_the_page_is_closed(work, browser):
    with View(work, "search.fxt") as view:
        page = view.open(browser)
        # Garbage collection and a reload do not count as closing the page.
        page.send("HeapProfiler.collectGarbage")
        for _ in range(2):
            page.run("window.app = undefined")
            page.send("Page.reload")
            wait_for_trace(page)
        second = view.open(browser)
        page.close()
        time.sleep(7)
        assert view.process.poll() is None, "the command has ended, but not all of its pages"
        second.close()
        assert view.process.wait(60) == 0


def the_hosted_interface_gets_the_trace(work, browser):
    with View(work, "search.fxt", "--hosted") as view:
        assert re.fullmatch(re.escape(HOSTED) + r"/#!/\?url=http://127\.0\.0\.1:9001/[0-9a-f]{32}/search\.fxt\.pftrace", view.address), view.address
        page = view.open(browser)
        assert ("matching lines", dict(counts(work, "search.fxt"))["matching lines"]) in query(page, "select name, count(*) from slice group by 1")
        page.screenshot(work.path("view-hosted.png"))
        # The page has the trace, so the command ends, although the page is open.
        assert view.process.wait(60) == 0


def pages_of_other_sites_get_no_data(work, browser):
    with View(work, "search.fxt") as view:
        page = browser.open(OTHER)
        trace = json.dumps(view.address.split("url=")[1])
        assert page.run(f"fetch({trace}).then(() => 'read', (error) => error.name)") == "TypeError"
        assert page.run(f"fetch({trace}, {{mode: 'no-cors'}}).then((answer) => answer.type, (error) => error.name)") in ["opaque", "TypeError"]
        assert page.run(f"new Promise((done) => {{ const frame = document.createElement('iframe'); frame.src = {trace.split('search.fxt')[0]}\"; "
                        "frame.onload = () => { try { done(frame.contentDocument?.body.innerHTML ?? 'closed'); } catch (error) { done(error.name); } }; "
                        "document.body.append(frame); })") in ["closed", "SecurityError"]


TESTS = [all_data_is_shown, a_click_shows_all_details, zoom_and_search, tasks_are_within_those_that_began_them, json_is_shown_as_it_is,
         it_ends_when_the_page_is_closed, the_hosted_interface_gets_the_trace, pages_of_other_sites_get_no_data]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for option in ("--trace", "--programs", "--work"):
        parser.add_argument(option, type=Path, required=True)
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    work = Work(options.trace, options.programs, options.work)
    # The copy of the interface is installed there too, not in the user's own directory.
    data = options.work.resolve() / "data"
    os.environ["XDG_DATA_HOME"] = str(data)
    interface = data / "trace/perfetto-ui"
    if not interface.is_dir():
        work.run("view", "--setup")
    for name, program, *arguments in [("every", "every_macro"), ("tasks", "async_tasks"), ("search", "file_search", "the", Path(__file__).parents[2] / "trace-xray/src")]:
        work.record(name, program, *arguments)
    other = work.path("other")
    other.mkdir(exist_ok=True)
    (other / "index.html").write_text("<title>another site</title><body></body>")
    failed = 0
    with Browser() as browser:
        browser.serve(HOSTED, interface)
        browser.serve(OTHER, other)
        # The browser asks the user once whether a site may access this machine.
        for origin in [HOSTED, OTHER]:
            browser.send("Browser.grantPermissions", origin=origin, permissions=["loopbackNetwork"])
        for test in TESTS:
            try:
                test(work, browser)
            except Exception:
                failed += 1
                print(f"{test.__name__}:", file=sys.stderr)
                traceback.print_exc()
    print(f"{len(TESTS) - failed} passed, {failed} failed")
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
