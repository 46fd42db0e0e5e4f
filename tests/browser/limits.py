"""What the page of `trace timeline` shows of traces with distant times, and of traces with many events."""

from work import FLOWS, INSTANTS, details, is_clean, search_for, view


def a_distant_event_is_shown(work, browser):
    page = work.open(browser, "distant")
    page.run("timeline.page.select(timeline.find('short')[0].item)")
    page.press("f")
    for key in ["w"] * 40 + ["d", "a", "End", "Home", "s", "0", "f"]:
        page.press(key)
        begin, end, _ = view(page)
        lines = page.run("ticks(timeline.page.scene).list")
        assert begin < end and len(lines) < 20, (key, begin, end, lines)
        assert lines == sorted(set(lines)), (key, lines)
    x, y, width, height = page.run("Object.values(timeline.box(timeline.page.selected))")
    assert details(page)[0] == "short" and 204 <= x < 1280 and width >= 1, (x, width)
    is_clean(page, "distant")


def count_calls(page):
    """Counts the calls that draw. Returns a function that returns their number for a frame."""
    page.run("""(() => {
      window.calls = 0;
      for (const name of ["fillRect", "fill", "stroke", "fillText", "drawImage"]) {
        const draw = CanvasRenderingContext2D.prototype[name];
        CanvasRenderingContext2D.prototype[name] = function(...values) { window.calls++; return draw.apply(this, values); };
      }
    })()""")
    return lambda: page.run("(window.calls = 0, timeline.page.draw(), window.calls)")


def narrow_boxes_are_drawn_at_once(work, browser):
    page = work.open(browser, "dense")
    calls = count_calls(page)
    assert calls() < 500, calls()
    # The boxes have the colours of their names, one next to the other.
    x, y, width, height = map(round, page.run("Object.values(timeline.box(timeline.find('odd')[500].item))"))
    row = page.run(f"[...document.getElementById('canvas').getContext('2d').getImageData({x}, {y + height // 2}, 40, 1).data].join()").split(",")
    colours = {tuple(row[place:place + 3]) for place in range(0, len(row), 4)}
    # Of those that share a pixel, one is drawn.
    theirs = page.run("['even', 'odd'].map((name) => { const {row, lane, place} = timeline.find(name)[0].item; return timeline.page.colours.boxPixel(row.lanes[lane].columns.label[place], 0); })")
    theirs = {tuple(str(pixel >> shift & 255) for shift in (0, 8, 16)) for pixel in theirs}
    assert colours and colours <= theirs and len(theirs) == 2, (colours, theirs)
    # Those that a search does not find are pale.
    search_for(page, "wide")
    pale = page.run(f"[...document.getElementById('canvas').getContext('2d').getImageData({x}, {y + height // 2}, 1, 1).data].join()").split(",")
    assert tuple(pale[:3]) not in theirs and pale[:3] != ["255"] * 3, pale
    is_clean(page, "dense")


def captions_wait_until_the_view_rests(work, browser):
    page = work.open(browser, "dense", width=3840, height=2160)
    page.run("""(() => {
      window.texts = 0;
      const draw = CanvasRenderingContext2D.prototype.fillText;
      CanvasRenderingContext2D.prototype.fillText = function(...values) { window.texts++; return draw.apply(this, values); };
    })()""")
    # About 120 durations of 30 pixels on each of eight threads.
    page.run("timeline.page.scene.show(0, timeline.page.scene.span)")
    moved = page.run("(timeline.page.scene.show(1e6, 1.12e6), window.texts = 0, timeline.page.draw(), window.texts)")
    page.wait("timeline.page.painter.isComplete")
    rested = page.run("(window.texts = 0, timeline.page.draw(), window.texts)")
    assert moved < 500 < 900 < rested, (moved, rested)
    # Fewer captions do not wait.
    few = page.run("(timeline.page.scene.show(1e6, 1.03e6), window.texts = 0, timeline.page.draw(), [window.texts, timeline.page.painter.isComplete])")
    assert few[0] > 200 and few[1], few
    is_clean(page, "dense")


def the_work_of_a_frame_is_bounded(work, browser):
    page = work.open(browser, "crowded")
    calls = count_calls(page)
    # A few for each pixel of a row and of the overview.
    assert calls() < 20000, calls()
    page.run("timeline.page.select(timeline.find('send')[0].item)")
    page.screenshot(work.path(f"crowded-{browser.name}.png"))
    assert calls() < 20000 and page.run("timeline.drawnArrows()") == [1000, 0], calls()
    assert f"1000 of {FLOWS} arrows are drawn" in page.text("#details nav"), page.text("#details nav")
    # Zoomed in, there is each loss.
    page.run("timeline.page.scene.show(1e6, 1.02e6)")
    assert page.run("[...timeline.page.scene.rows[0].losses.between(1e6, 1.02e6, (time) => timeline.page.scene.nextPixel(time))].map(({text}) => text)") == ["2 lost: full"] * 5
    is_clean(page, "crowded")


def matches_are_limited(work, browser):
    page = work.open(browser, "crowded")
    search_for(page, "tick")
    assert page.text("#matches") == f"1 of 100000, {INSTANTS} found", page.text("#matches")
    page.press("Enter", shift=True)
    assert page.text("#matches").startswith("100000 of "), page.text("#matches")
    is_clean(page, "crowded")


TESTS = [a_distant_event_is_shown, narrow_boxes_are_drawn_at_once, captions_wait_until_the_view_rests, the_work_of_a_frame_is_bounded, matches_are_limited]
