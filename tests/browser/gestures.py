"""What mouse and fingers do on the page of `trace timeline`."""

import colorsys
import re

from work import ARROWS, box, canvas_top, click_on, details, find, is_clean, nanos, pixel, search_for, view


def near(a, b, distance=2):
    return abs(a - b) <= distance


def wheel_zooms_around_the_pointer(work, browser):
    page = work.open(browser, "search")
    before = find(page, "matching lines")
    for _ in range(3):
        page.wheel(before[0], before[1] + 3, -100)
    after = find(page, "matching lines")
    assert after[2] > 2 * before[2] and near(after[0], before[0]), (before, after)
    page.wheel(before[0], before[1] + 3, 100)
    assert find(page, "matching lines")[2] < after[2]
    # With the control key too, which is how browsers report two fingers on a touchpad.
    first = view(page)
    page.wheel(600, 300, -100, control=True)
    assert view(page)[1] - view(page)[0] < first[1] - first[0]
    is_clean(page, "search")


def the_wheel_with_shift_scrolls_the_rows(work, browser):
    page = work.open(browser, "tasks", height=300)
    before = view(page)
    page.wheel(600, 200, 100, shift=True)
    assert view(page)[:2] == before[:2] and view(page)[2] > before[2], view(page)
    page.wheel(20, 200, -500)
    assert view(page) == before, "above the names, the wheel scrolls"
    # The scrollbar is at the right.
    page.drag(1276, canvas_top(page) + 30, 1276, canvas_top(page) + 130)
    assert view(page)[:2] == before[:2] and view(page)[2] > 10, view(page)
    is_clean(page, "tasks")


def shift_space_and_the_middle_button_pan(work, browser):
    page = work.open(browser, "search")
    for _ in range(3):
        page.wheel(600, 500, -100)
    for options in [{"shift": True}, {"button": "middle"}, {}]:
        before = find(page, "matching lines")
        if not options:
            page.hold(" ", True)
        page.drag(600, 500, 700, 500, **options)
        if not options:
            page.hold(" ", False)
        assert near(find(page, "matching lines")[0], before[0] + 100), options
    assert page.is_hidden("#details"), "no range was selected"
    is_clean(page, "search")


def a_drag_selects_a_range_with_sums(work, browser):
    page = work.open(browser, "search")
    # In the ruler: all rows. The page is fitted, so this is all that was recorded.
    page.drag(206, canvas_top(page) + 10, 1278, canvas_top(page) + 10)
    table = sums(page)
    recorded = list(work.durations("search"))
    for name in {name for name, _, _ in recorded}:
        lengths = sorted(length for other, length, _ in recorded if other == name)
        count, total, own, median = table[name]
        assert count == str(len(lengths)) and close(total, sum(lengths)) and close(median, lengths[(len(lengths) - 1) // 2]), (name, table[name], lengths)
        assert time(own) <= time(total) * 1.001
    assert close(table["read"][2], time(table["read"][1])), "a duration without children"
    children = sum(length for name, length, _ in recorded if name in ["read", "matching lines", "print"])
    files = sum(length for name, length, _ in recorded if name == "search file")
    assert time(table["search file"][2]) <= files - children * 0.5, table
    assert f"{len(recorded)} durations in all rows" in page.text("#details h2"), page.text("#details h2")
    page.screenshot(work.path(f"range-{browser.name}.png"))
    # A part of a row counts with the part in the range.
    page.press("Escape")
    x, y, width, _ = box(page, "search")
    page.drag(x - width / 4, y, x + width / 4, y)
    assert "in 1 row" in page.text("#details h2"), page.text("#details h2")
    [length] = [length for name, length, _ in recorded if name == "search"]
    total = sums(page)["search"][1]
    assert total == page.text("#details .length") and 0.49 * length < time(total) < 0.51 * length, (total, length)
    is_clean(page, "search")


def sums_are_sorted_and_searched(work, browser):
    page = work.open(browser, "search")
    page.press("m")
    names = lambda: page.run("[...document.querySelectorAll('#details tbody th')].map((cell) => cell.innerText)")
    sorted_by = lambda: page.run("[...document.querySelectorAll('#details thead th')].filter((cell) => cell.ariaSort !== 'none').map((cell) => [cell.innerText, cell.ariaSort])")
    by_total = names()
    assert [order for _, order in sorted_by()] == ["descending"], sorted_by()
    page.run("[...document.querySelectorAll('#details th button')].find((button) => button.textContent === 'Name').click()")
    assert names() == sorted(by_total) and [order for _, order in sorted_by()] == ["ascending"], names()
    page.run("[...document.querySelectorAll('#details tbody button')].find((button) => button.textContent === 'read').click()")
    page.wait("/ found/.test(document.getElementById('matches').textContent)")
    assert page.run("document.getElementById('query').value") == "read"
    is_clean(page, "search")


def sums(page):
    """Returns count, total, self time and median by name."""
    rows = page.run("[...document.querySelectorAll('#details tbody tr')].map((row) => [...row.children].map((cell) => cell.innerText))")
    return {name: values for name, *values in rows}


def time(text):
    number, unit = text.split(" ")
    return float(number) * {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}[unit]


def close(text, nanos):
    return abs(time(text) - nanos) <= 0.001 * nanos


def the_overview_is_a_brush(work, browser):
    page = work.open(browser, "search")
    y = page.run("(() => { const box = document.getElementById('overview').getBoundingClientRect(); return box.y + box.height / 2; })()")
    first, last, _ = view(page)
    page.drag(320, y, 640, y)
    begin, end, _ = view(page)
    length = last - first
    assert near(begin, first + length / 4, length / 100) and near(end, first + length / 2, length / 100), (first, last, begin, end)
    # The inside moves the brush, an edge moves that edge.
    page.drag(480, y, 800, y)
    assert near(view(page)[0], begin + length / 4, length / 100) and near(view(page)[1], end + length / 4, length / 100), view(page)
    page.drag(960, y, 1100, y)
    assert near(view(page)[0], begin + length / 4, length / 100) and view(page)[1] > end + length * 0.3, view(page)
    # A click moves the view there, a double click shows all.
    page.click(100, y)
    assert view(page)[0] < first + 0.1 * length
    page.click(100, y, times=2)
    assert view(page)[:2] == [first, last], view(page)
    page.screenshot(work.path(f"overview-{browser.name}.png"))
    is_clean(page, "search")


def the_overview_shows_threads_that_run_longer_than_the_trace(work, browser):
    page = work.open(browser, "search")
    # A tenth of the span: all long durations end after it.
    busy = page.run("""(() => {
      const {overview: {constructor: Overview, scene, colours}} = timeline.page;
      const part = Object.assign(Object.create(scene), {span: scene.span / 10});
      return [...new Overview(document.createElement('canvas'), part, colours, () => {}).busy];
    })()""")
    assert 0.1 < max(busy[:-1]) <= 1 and max(busy) == 1, (max(busy[:-1]), busy[-1])
    is_clean(page, "search")


def tips_vanish_with_what_they_describe(work, browser):
    page = work.open(browser, "search")
    x, y, _, _ = box(page, "search")
    for act in [lambda: page.press("Home"), lambda: page.wheel(x, y, -400, shift=True), lambda: page.move(x, y + 4)]:
        page.move(x, y)
        assert page.text("#tip").startswith("search\n"), page.text("#tip")
        act()
    # Zoomed or scrolled away, folded, or left by the mouse.
    acts = [lambda: [page.press("d") for _ in range(12)], lambda: page.run("(timeline.page.scene.fold(timeline.page.scene.data.groups[0]), timeline.page.redraw())"),
            lambda: page.move(640, 20)]
    for number, act in enumerate(acts):
        page.press("0")
        page.move(x, y)
        assert not page.is_hidden("#tip")
        act()
        page.settle()
        assert page.is_hidden("#tip"), number
        if number == 1:
            page.run("(timeline.page.scene.fold(timeline.page.scene.data.groups[0]), timeline.page.redraw())")
    is_clean(page, "search")


def the_panel_takes_space_only_with_a_selection(work, browser):
    page = work.open(browser, "search")
    height = lambda: page.run("document.getElementById('canvas').clientHeight")
    idle = height()
    assert page.is_hidden("#details")
    click_on(page, "matching lines")
    assert height() < idle and not page.is_hidden("#details")
    # The duration is first.
    assert re.match(r"[\d.]+ (ns|µs|ms)\s", page.text("#details")), page.text("#details")
    assert page.text("#details dt") == "duration"
    page.run("document.querySelector('#details .head button').click()")
    page.settle()
    assert height() == idle and page.is_hidden("#details")
    is_clean(page, "search")


def a_double_click_zooms_to_an_event(work, browser):
    # The panel covers the place of the event, which moves.
    page = work.open(browser, "tasks", height=500)
    page.run("(timeline.page.scene.rows.forEach((row) => row.isFolded = false), timeline.page.scene.layOut(), timeline.page.redraw())")
    x, y, place = page.run("(() => { const {page} = timeline, row = page.scene.rows.find((row) => row.kind === 1), lane = Math.floor((page.scene.height - 10 - page.scene.laneY(row, 0)) / 18);"
                           "const box = timeline.box({row, lane, place: 0}); return [box.x + box.width / 2, box.y + 5, lane]; })()")
    before = view(page)
    # The system decides how long a double click may take.
    page.run("(performance.now = () => window.now = (window.now ?? 0) + 1000, true)")
    page.click(x, y + canvas_top(page), times=2)
    assert page.run("timeline.page.selected.lane") == place
    _, _, width, _ = page.run("(() => { const {x, y, width, height} = timeline.box(timeline.page.selected); return [x, y, width, height]; })()")
    assert 200 < width < 500 and view(page)[1] - view(page)[0] != before[1] - before[0], width
    is_clean(page, "tasks")


def a_double_click_elsewhere_does_not_zoom(work, browser):
    page = work.open(browser, "search")
    click_on(page, "matching lines")
    before = view(page)[:2]
    y = canvas_top(page)
    for x, top in [(40, y + 35), (1000, y + 10), (1270, y + 380)]:
        page.click(x, top, times=2)
        assert view(page)[:2] == before, (x, top, view(page), before)
    # Two clicks on the name fold and unfold.
    assert not page.run("timeline.page.scene.data.groups[0].isFolded")
    click_on(page, "matching lines")
    x, y = page.run("(() => { const box = document.querySelector('#details h2').getBoundingClientRect(); return [box.x + 5, box.y + 5]; })()")
    page.click(x, y, times=2)
    assert view(page)[:2] == before, (view(page), before)
    is_clean(page, "search")


def links_lead_to_related_events(work, browser):
    page = work.open(browser, "operations")
    link = lambda name: page.run(f"(() => {{ const link = [...document.querySelectorAll('#details nav button')].find((link) => link.ariaLabel.startsWith('{name} ')); link.click(); return link.ariaLabel; }})()")
    click_on(page, "/user/201")
    heading, values = details(page)
    assert heading == "user" and values["id"].startswith("201 (0xc9)") and values["parent"] == "200", values
    link("Parent")
    assert details(page)[1]["id"].startswith("200 "), details(page)
    link("Child user")
    link("Child query")
    assert details(page)[1]["path"] == "/query/202", details(page)
    # Calls of a function by itself.
    click_on(page, "walk", 1)
    link("Parent walk")
    assert nanos(details(page)[1]["duration"]) == 400000, details(page)
    assert nanos(details(page)[1]["self"]) == 100000, details(page)
    page = work.open(browser, "arrows")
    page.run("timeline.page.select(timeline.find('only-500')[0].item)")
    link("Flow to take")
    assert details(page)[0] == "take", details(page)
    link("Flow from send")
    assert details(page)[1]["to"] == "only-500", details(page)
    # Of many children, the longest are linked.
    page = work.open(browser, "search")
    page.run("timeline.page.select(timeline.find('Search::work')[0].item)")
    links = page.run("[...document.querySelectorAll('#details nav button')].map((link) => link.ariaLabel).filter((name) => name.startsWith('Child '))")
    lengths = [time(re.search(r"[\d.]+ \S+$", link)[0]) for link in links]
    assert lengths == sorted(lengths, reverse=True) and len(links) <= 6, links
    # The polls of a task.
    page = work.open(browser, "tasks")
    page.run("timeline.page.select(timeline.find('crawl').find(({item}) => item.row.kind === 1).item)")
    link("Poll crawl")
    link("Operation crawl")
    assert details(page)[1]["id"], details(page)
    is_clean(page, "tasks")


def operations_are_nested_by_parent(work, browser):
    page = work.open(browser, "operations")
    assert page.run("timeline.rows()") == [["process 1", "thread 2", "request"]], page.run("timeline.rows()")
    tops = {id: find(page, f"id: {id} ")[1] for id in [100, 101, 102, 103, 200, 201, 202, 203]}
    lanes = [sorted({top: None for top in tops.values()}).index(tops[id]) for id in tops]
    assert lanes == [0, 1, 2, 2, 3, 4, 4 + 1, 4 + 1], lanes
    page.screenshot(work.path(f"operations-{browser.name}.png"))
    names = page.run("timeline.page.scene.rows[1].lanes.map((_, lane) => Object.values(laneName(timeline.page.painter, timeline.page.scene.rows[1], lane)))")
    assert names == [[0, "request"], [1, "user"], [2, "query"]] * 2, names
    # Their own ids are found, in decimal and in hexadecimal.
    for query in ["0xca", "id: 202"]:
        search_for(page, query)
        assert page.text("#matches") == "1 of 1" and details(page)[1]["path"] == "/query/202", (query, details(page))
    is_clean(page, "operations")


def durations_are_labelled_by_an_argument(work, browser):
    page = work.open(browser, "operations")
    page.wait("document.querySelectorAll('#label option').length > 1")
    options = page.run("[...document.querySelectorAll('#label option')].map((option) => option.value)")
    assert options[:2] == ["", "id"] and {"path", "parent"} <= set(options), options
    captions = lambda: page.run("timeline.page.painter.captions.map(({columns, place}) => timeline.page.painter.caption(columns, place))")
    assert "user" in captions() and "/user/101 · user" not in captions(), captions()
    page.run("(() => { const list = document.getElementById('label'); list.value = 'path'; list.dispatchEvent(new Event('change')); })()")
    page.settle()
    assert {"/user/101 · user", "/request/200 · request", "walk"} <= set(captions()), captions()
    # A click on the name of an argument in the details does the same.
    click_on(page, "/user/101")
    page.run("[...document.querySelectorAll('#details dt button')].find((button) => button.textContent === 'parent').click()")
    page.settle()
    assert "100 · user" in captions() and page.run("document.getElementById('label').value") == "parent", captions()
    is_clean(page, "operations")


def parents_and_children_differ_in_colour(work, browser):
    for dark in [False, True]:
        page = work.open(browser, "operations", dark)
        places = [("walk", 0), ("walk", 1), ("walk", 2), ("request", 0), ("/user/101", 0), ("/query/102", 0)]
        colours = [colour(page, name, place) for name, place in places]
        for parent, child in [(0, 1), (1, 2), (3, 4), (4, 5)]:
            distance = max(abs(a - b) for a, b in zip(colours[parent], colours[child]))
            assert distance > 20, (dark, places[parent], places[child], colours)


def names_are_legible(work, browser):
    for dark in [False, True]:
        page = work.open(browser, "search", dark)
        text, boxes = page.run("[timeline.page.colours.theme.text, timeline.page.colours.theme.boxes]")
        text = luminance([int(text[place:place + 2], 16) / 255 for place in (1, 3, 5)])
        for box in boxes:
            saturation, lightness = [float(part.rstrip("%")) / 100 for part in box.split()]
            for hue in range(0, 360, 5):
                back = luminance(colorsys.hls_to_rgb(hue / 360, lightness, saturation))
                contrast = (max(text, back) + 0.05) / (min(text, back) + 0.05)
                # WCAG 2, level AA.
                assert contrast >= 4.5, (dark, box, hue, contrast)


def luminance(colour):
    """Returns the relative luminance of a colour, by WCAG 2."""
    return sum(weight * (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4) for weight, part in zip([0.2126, 0.7152, 0.0722], colour))


def colour(page, text, place=0):
    """Returns the colour of a duration, at its right edge, where no letter is."""
    x, y, width, height = page.run(f"(() => {{ const box = timeline.box(timeline.find('{text}')[{place}].item); return [box.x, box.y, box.width, box.height]; }})()")
    ratio = page.run("devicePixelRatio")
    return pixel(page, int((x + width - 3) * ratio), int((y + 2) * ratio))


def arrows_are_those_of_the_selection(work, browser):
    page = work.open(browser, "arrows")
    drawn = lambda: page.run("timeline.drawnArrows()")
    assert drawn() == [0, 0], drawn()
    page.screenshot(work.path(f"arrows-{browser.name}.png"))
    page.run("timeline.page.select(timeline.find('send')[500].item)")
    assert details(page)[0] == "send" and drawn() == [1, 0], drawn()
    page.press("f")
    page.screenshot(work.path(f"arrow-{browser.name}.png"))
    page.press("Escape")
    assert drawn() == [0, 0], drawn()
    # Neighbours: the arrows of the polls before and after.
    page = work.open(browser, "chain")
    page.run("timeline.page.select(timeline.find('number: 3')[0].item)")
    assert drawn() == [2, 2], drawn()
    page.screenshot(work.path(f"chain-{browser.name}.png"))
    page.run("timeline.page.select(timeline.find('number: 0')[0].item)")
    assert drawn() == [1, 1], drawn()
    # The data that the archive keeps for its JSON has no note.
    assert page.text("#notes") == "", page.text("#notes")
    is_clean(page, "chain")


def only_matches_stay_bright(work, browser):
    page = work.open(browser, "arrows")
    search_for(page, "only-500")
    page.run("document.getElementById('canvas').focus()")
    for key in ["f", "s", "Escape", "Escape"]:
        page.press(key)
    bright = colour(page, "only-500")
    assert colour(page, "only-501") == bright
    page.press("/")
    page.type("only-500")
    page.wait("document.getElementById('matches').textContent === '1 found'")
    page.settle()
    page.screenshot(work.path(f"found-{browser.name}.png"))
    assert colour(page, "only-500") == bright and colour(page, "only-501") != bright
    is_clean(page, "arrows")


def search_keeps_the_context(work, browser):
    page = work.open(browser, "arrows")
    # The first match is the nearest one, and steps keep the scale.
    page.run("(timeline.page.scene.show(30e6, 31e6), timeline.page.redraw())")
    search_for(page, "only-")
    assert details(page)[1]["to"] == "only-300", details(page)
    scale = lambda: view(page)[1] - view(page)[0]
    page.run("document.getElementById('canvas').focus()")
    for number in range(301, 320):
        page.press("n")
        assert details(page)[1]["to"] == f"only-{number}" and near(scale(), 1e6, 1), (details(page), scale())
        x, _, width, _ = page.run("(() => { const {x, y, width, height} = timeline.box(timeline.page.selected); return [x, y, width, height]; })()")
        assert 204 <= x and x + width <= 1280, (number, x, width)
    assert page.text("#matches") == f"320 of {ARROWS}", page.text("#matches")
    page.press("p")
    assert details(page)[1]["to"] == "only-318", details(page)
    is_clean(page, "arrows")


def search_continues_from_the_selection(work, browser):
    page = work.open(browser, "arrows")
    page.run("(timeline.page.scene.show(88e6, 91e6), timeline.page.redraw())")
    # The last event begins after the last match.
    page.run("timeline.page.select(timeline.find('take')[899].item)")
    page.press("/")
    page.type("only-")
    page.wait("document.getElementById('matches').textContent === '900 found'")
    page.run("document.getElementById('canvas').focus()")
    page.press("p")
    assert details(page)[1]["to"] == "only-899", details(page)
    page.press("p")
    assert details(page)[1]["to"] == "only-898", details(page)
    # After a click on another match, and on an event between two matches.
    page.run("timeline.page.select(timeline.find('only-500')[0].item)")
    page.press("n")
    assert details(page)[1]["to"] == "only-501", details(page)
    page.run("timeline.page.select(timeline.find('only-500')[0].item)")
    page.press("p")
    assert details(page)[1]["to"] == "only-499", details(page)
    for key, match in [("n", "only-301"), ("p", "only-300")]:
        page.run("timeline.page.select(timeline.find('take')[300].item)")
        page.press(key)
        assert details(page)[1]["to"] == match, details(page)
    assert page.text("#matches") == f"301 of {ARROWS}", page.text("#matches")
    is_clean(page, "arrows")


def fingers_pan_and_zoom(work, browser):
    page = work.open(browser, "search", width=420, height=860)
    y = canvas_top(page) + 300
    # A pinch keeps the times below the fingers.
    first = view(page)
    page.touch("touchStart", (150, y), (250, y))
    for step in range(1, 6):
        page.touch("touchMove", (150 - 10 * step, y), (250 + 10 * step, y))
    page.touch("touchEnd")
    zoomed = view(page)
    assert near((first[1] - first[0]) / (zoomed[1] - zoomed[0]), 2, 0.1), (first, zoomed)
    page.touch("touchStart", (150, y))
    for step in range(1, 6):
        page.touch("touchMove", (150 + 20 * step, y))
    page.touch("touchEnd")
    moved = view(page)
    assert near(moved[0], zoomed[0] - 100 / 420 * (zoomed[1] - zoomed[0]), (zoomed[1] - zoomed[0]) / 20), (zoomed, moved)
    assert page.is_hidden("#details") and page.is_hidden("#tip")
    # In the ruler, a finger selects a range.
    y = canvas_top(page) + 12
    page.touch("touchStart", (100, y))
    for step in range(1, 6):
        page.touch("touchMove", (100 + 40 * step, y))
    page.touch("touchEnd")
    assert view(page) == moved and "in all rows" in page.text("#details h2"), view(page)
    is_clean(page, "search")


def interrupted_gestures_end(work, browser):
    page = work.open(browser, "search")
    event = lambda kind, pointer, x, buttons, type="touch": page.run(
        f"document.getElementById('canvas').dispatchEvent(new PointerEvent('{kind}', {{pointerId: {pointer}, pointerType: '{type}', clientX: {x}, clientY: 400,"
        f"button: {'-1' if kind == 'pointermove' else 0}, buttons: {buttons}, bubbles: true}}))")
    page.run("(document.getElementById('canvas').setPointerCapture = () => {}, true)")
    # The system takes one of two fingers.
    for kind, pointer, x in [("pointerdown", 11, 300), ("pointerdown", 12, 400), ("pointercancel", 11, 300), ("pointermove", 12, 450), ("pointerup", 12, 450)]:
        event(kind, pointer, x, 1)
    # The button was released outside of the browser.
    event("pointerdown", 1, 600, 1, "mouse")
    event("pointermove", 1, 650, 1, "mouse")
    event("pointermove", 1, 700, 0, "mouse")
    assert page.run("timeline.page.pointer.gesture") is None and page.run("timeline.page.pointer.position.x") == 700
    page.run("timeline.page.clear()")
    # The space bar was released in another window.
    page.hold(" ", True)
    page.run("window.dispatchEvent(new Event('blur'))")
    _, y, _, _ = box(page, "search")
    page.drag(600, y, 700, y)
    assert page.run("timeline.page.range !== null"), "a drag selects a range"
    page.hold(" ", False)
    is_clean(page, "search")


def a_tap_selects_an_event(work, browser):
    page = work.open(browser, "search", width=420, height=860)
    x, y, _, _ = box(page, "search")
    page.touch("touchStart", (x, y))
    page.touch("touchEnd")
    page.wait("!document.getElementById('details').hidden")
    assert details(page)[0] == "search", details(page)
    is_clean(page, "search")


def a_new_pixel_ratio_keeps_the_scale(work, browser):
    page = work.open(browser, "search")
    # Returns by how much each canvas is scaled, and its pixels for a pixel of CSS.
    scales = lambda: page.run("(timeline.page.draw(), [timeline.page.painter, timeline.page.overview].map(({canvas, context}) => "
                              "[context.getTransform().a, canvas.width / canvas.clientWidth]))")
    # The window moves to another screen, and a frame is drawn before the canvases have a new size.
    page.run("(Object.defineProperty(window, 'devicePixelRatio', {value: 3}), true)")
    assert all(near(scale, pixels, 0.01) for scale, pixels in scales()), scales()
    is_clean(page, "search")


def all_widths_fit(work, browser):
    for width, height in [(420, 860), (768, 1024), (3840, 2160)]:
        page = work.open(browser, "tasks", width=width, height=height)
        click_on(page, "crawl", 0)
        overflow = page.run("[...document.querySelectorAll('body *')].filter((one) => !one.closest('[hidden], select, #tip, .spoken') && one.getBoundingClientRect().right > innerWidth + 1).map((one) => one.tagName)")
        assert overflow == [], (width, overflow)
        assert page.run("document.documentElement.scrollHeight <= innerHeight && document.getElementById('canvas').clientHeight > innerHeight * 0.3"), width
        page.screenshot(work.path(f"width-{width}-{browser.name}.png"))
        is_clean(page, "tasks")


TESTS = [wheel_zooms_around_the_pointer, the_wheel_with_shift_scrolls_the_rows, shift_space_and_the_middle_button_pan, a_drag_selects_a_range_with_sums,
         sums_are_sorted_and_searched, the_overview_is_a_brush, the_overview_shows_threads_that_run_longer_than_the_trace,
         tips_vanish_with_what_they_describe, the_panel_takes_space_only_with_a_selection,
         a_double_click_zooms_to_an_event, a_double_click_elsewhere_does_not_zoom,
         links_lead_to_related_events, operations_are_nested_by_parent, durations_are_labelled_by_an_argument, parents_and_children_differ_in_colour, names_are_legible,
         arrows_are_those_of_the_selection, only_matches_stay_bright, search_keeps_the_context, search_continues_from_the_selection, fingers_pan_and_zoom, interrupted_gestures_end, a_tap_selects_an_event, a_new_pixel_ratio_keeps_the_scale, all_widths_fit]
