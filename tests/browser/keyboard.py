"""What keys do on the page of `trace timeline`, and what screen readers read."""

import json

from work import box, click_on, details, find, is_clean, nanos, search_for, view


def near(a, b, distance=2):
    return abs(a - b) <= distance


def keys_move_the_view(work, browser):
    page = work.open(browser, "search")
    first = view(page)
    x, y, width, _ = box(page, "matching lines")
    # Zoom around the pointer.
    page.move(x, y)
    page.press("w")
    after = box(page, "matching lines")
    assert after[2] > 1.2 * width and near(after[0], x), (x, width, after)
    page.press("s")
    assert near(box(page, "matching lines")[2], width)
    page.press("d")
    assert find(page, "matching lines")[0] < x - 50
    page.press("a")
    page.press("w")
    page.press("End")
    assert near(view(page)[1], first[1], (first[1] - first[0]) / 50)
    page.press("0")
    assert view(page) == first
    click_on(page, "matching lines")
    page.press("f")
    x, _, width, _ = find(page, "matching lines")
    assert 200 < width < 500 and 204 < x < 900, (x, width)
    is_clean(page, "search")


def arrow_keys_select_events(work, browser):
    page = work.open(browser, "operations")
    page.run("document.getElementById('canvas').focus()")
    page.press("ArrowRight")
    assert details(page)[0] == "walk" and nanos(details(page)[1]["duration"]) == 400000
    page.press("ArrowDown")
    page.press("ArrowDown")
    assert nanos(details(page)[1]["duration"]) == 200000
    # The next row.
    page.press("ArrowDown")
    assert details(page)[0] == "request", details(page)
    page.press("ArrowDown")
    page.press("ArrowDown")
    assert details(page)[1]["id"].startswith("102 "), details(page)
    page.press("ArrowRight")
    assert details(page)[1]["id"].startswith("103 "), details(page)
    page.press("ArrowRight")
    assert details(page)[1]["id"].startswith("103 "), "the last one of its lane"
    page.press("ArrowLeft")
    page.press("ArrowUp")
    assert details(page)[1]["id"].startswith("101 "), details(page)
    page.press("Escape")
    assert page.is_hidden("#details")
    # Enter in the canvas zooms to the selection.
    page.press(".")
    before = view(page)
    page.press("ArrowDown")
    page.press("Enter")
    assert view(page)[1] - view(page)[0] != before[1] - before[0]
    is_clean(page, "operations")


def flows_are_followed(work, browser):
    page = work.open(browser, "arrows")
    page.run("timeline.page.select(timeline.find('only-500')[0].item)")
    page.press("]")
    assert details(page)[0] == "take", details(page)
    page.press("[")
    assert details(page)[1]["to"] == "only-500", details(page)
    is_clean(page, "arrows")


def a_range_without_a_mouse(work, browser):
    page = work.open(browser, "operations")
    page.press(".")
    page.press("m")
    assert page.text("#details .length") == "400 µs", page.text("#details")
    assert "11 durations in all rows" in page.text("#details h2"), page.text("#details h2")
    rows = page.run("[...document.querySelectorAll('#details tbody tr')].map((row) => [...row.children].map((cell) => cell.innerText.trim()))")
    values = {name: values for name, *values in rows}
    # The second and the third call are in the first.
    assert values["walk"] == ["3", "900 µs", "400 µs", "300 µs"], rows
    assert values["user async"] == ["2", "360 µs", "–", "180 µs"], rows
    page.press("ArrowRight", shift=True)
    assert page.text("#details .length") != "400 µs"
    page.press("ArrowLeft", shift=True)
    assert page.text("#details .length") == "400 µs", page.text("#details .length")
    page.press("f")
    assert 400000 < view(page)[1] - view(page)[0] < 500000, view(page)
    page.press("Escape")
    assert page.is_hidden("#details")
    is_clean(page, "operations")


def rows_are_folded(work, browser):
    page = work.open(browser, "operations")
    height = lambda: page.run("timeline.page.scene.total")
    page.press(".")
    whole = height()
    page.press("x")
    assert height() < whole
    page.press("x")
    assert height() == whole
    page.press("X", shift=True)
    assert height() < whole / 3
    page.press("ArrowRight")
    assert height() == whole, "what is selected is unfolded"
    is_clean(page, "operations")


def a_folded_selection_has_no_frame(work, browser):
    page = work.open(browser, "operations")
    # Draws, and returns how many frames and areas the selection has.
    script = """(() => {
      const {painter} = timeline.page, {context} = painter, {mark, range} = painter.colours.theme;
      const counts = [0, 0], {strokeRect, fillRect} = context;
      context.strokeRect = (...box) => { counts[0]++; strokeRect.apply(context, box); };
      context.fillRect = (...box) => { counts[1] += context.fillStyle === plain(range); fillRect.apply(context, box); };
      const plain = (colour) => { const other = document.createElement('canvas').getContext('2d'); other.fillStyle = colour; return other.fillStyle; };
      timeline.page.draw();
      delete context.strokeRect;
      delete context.fillRect;
      return counts;
    })()"""
    page.press(".")
    assert page.run(script) == [1, 0], page.run(script)
    page.press("X", shift=True)
    assert page.run(script) == [0, 0], page.run(script)
    page.run("timeline.page.clear()")
    page.press("0")
    group = page.run("timeline.page.scene.data.groups[0].isFolded && (timeline.page.scene.fold(timeline.page.scene.data.groups[0]), true)")
    assert group
    page.run("timeline.page.setRange({from: 0, to: 1e5, rows: [timeline.page.scene.rows[0]]})")
    assert page.run(script) == [0, 1], page.run(script)
    page.run("timeline.page.scene.fold(timeline.page.scene.data.groups[0])")
    assert page.run(script) == [0, 0], page.run(script)
    is_clean(page, "operations")


def search_and_its_keys(work, browser):
    page = work.open(browser, "search")
    lengths = sorted(length for name, length, _ in work.durations("search") if name == "search file")
    search_for(page, "search file")
    assert page.text("#matches") == f"1 of {len(lengths)}", page.text("#matches")
    heading, first = details(page)
    assert heading == "search file"
    found = [nanos(first["duration"])]
    # Enter in the field goes on, with Shift it goes back.
    page.press("Enter")
    assert page.text("#matches").startswith("2 of "), page.text("#matches")
    page.press("Enter", shift=True)
    assert page.text("#matches").startswith("1 of "), page.text("#matches")
    page.run("document.getElementById('canvas').focus()")
    for _ in lengths[1:]:
        page.press("n")
        found.append(nanos(details(page)[1]["duration"]))
    assert sorted(found) == lengths
    page.press("n")
    assert details(page)[1] == first
    # Arguments are searched too.
    argument = next(value for _, _, arguments in work.durations("search") for value in arguments.values() if value.endswith(".md"))
    search_for(page, argument)
    assert argument in details(page)[1].values(), details(page)
    page.press("Escape")
    assert page.text("#matches") == "" and page.run("document.activeElement.id") == "canvas"
    page.press("?")
    assert not page.is_hidden("#help") and page.attribute("#keys", "aria-expanded") == "true"
    page.press("Escape")
    assert page.is_hidden("#help") and not page.is_hidden("#details"), "one at a time"
    is_clean(page, "search")


def screen_readers_read_names(work, browser):
    page = work.open(browser, "operations")
    assert page.attribute("#canvas", "role") == "application" and "Arrow keys" in page.attribute("#canvas", "aria-label")
    assert page.attribute("#live", "aria-live") == "polite" and page.attribute("#canvas", "tabindex") == "0"
    # Every control has a name.
    controls = page.run("[...document.querySelectorAll('button, input, select, [role]')].map((one) => "
                        "one.getAttribute('aria-label') || one.labels?.[0]?.textContent || one.textContent.trim() || (one.id === 'search' ? 'search' : ''))")
    assert len(controls) > 8 and all(controls), controls
    live = lambda: page.run("document.getElementById('live').textContent")
    page.run("document.getElementById('canvas').focus()")
    page.press("ArrowRight")
    assert live() == "walk, 400 µs, on thread 2, at 0 ns", live()
    search_for(page, "/user/101")
    assert live().startswith("1 of 1: user, 180 µs, on request, at 20 µs, path /user/101"), live()
    assert "id 101" in live(), live()
    page.press("Escape")
    page.press("m")
    assert live().startswith("180 µs selected, "), live()
    page.press("Escape")
    assert live() == "Nothing selected", live()
    assert page.attribute("#details", "aria-label") == "Selected range"
    # The overview is a slider. At first, the view begins before the trace.
    page.press("0")
    assert page.attribute("#overview", "aria-valuenow") == "0", page.attribute("#overview", "aria-valuenow")
    before = view(page)
    page.press("w")
    text = page.attribute("#overview", "aria-valuetext")
    assert "in view, from" in text, text
    page.run("document.getElementById('overview').focus()")
    page.press("ArrowRight")
    page.settle()
    assert view(page)[0] > before[0] and page.attribute("#overview", "aria-valuetext") != text
    is_clean(page, "operations")


def tab_reaches_everything(work, browser):
    page = work.open(browser, "operations")
    click_on(page, "/user/101")
    page.wait("!document.getElementById('labels').hidden")
    page.run("document.getElementById('query').focus()")
    focused = []
    for _ in range(25):
        focused.append(page.run("document.activeElement.id || document.activeElement.ariaLabel || document.activeElement.textContent.slice(0, 40)"))
        page.press("Tab")
    expected = ["query", "previous", "next", "label", "fit", "theme", "keys", "overview", "canvas"]
    assert [name for name in focused if name in expected][:9] == expected, focused
    assert "Close" in focused and any(name.startswith("Parent request") for name in focused) and "path" in focused, json.dumps(focused)
    is_clean(page, "operations")


def the_focus_follows_links(work, browser):
    page = work.open(browser, "operations", height=240)
    focused = lambda: page.run("document.activeElement.tagName + ' ' + document.activeElement.textContent.slice(0, 20)")
    page.run("timeline.page.select(timeline.find('/user/201')[0].item)")
    page.run("[...document.querySelectorAll('#details nav button')].find((link) => link.ariaLabel.startsWith('Child query ')).focus()")
    page.press("Enter")
    assert focused() == "H2 query" and details(page)[0] == "query", focused()
    # Keys that scroll do so in the panel, the others work.
    assert page.run("(() => { const {scrollHeight, clientHeight} = document.getElementById('details'); return scrollHeight > clientHeight; })()")
    page.press("End")
    page.wait("document.getElementById('details').scrollTop > 0")
    assert details(page)[0] == "query"
    page.press("ArrowLeft")
    page.press("ArrowRight")
    assert details(page)[1]["id"].startswith("203 ") and focused() == "H2 query", (details(page), focused())
    # The focus stays elsewhere.
    page.run("document.getElementById('canvas').focus()")
    page.press("ArrowLeft")
    assert details(page)[1]["id"].startswith("202 ") and page.run("document.activeElement.id") == "canvas", details(page)
    is_clean(page, "operations")


TESTS = [keys_move_the_view, arrow_keys_select_events, flows_are_followed, a_range_without_a_mouse, rows_are_folded, a_folded_selection_has_no_frame, search_and_its_keys,
         screen_readers_read_names, tab_reaches_everything, the_focus_follows_links]
