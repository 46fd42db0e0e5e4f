"""What the page of `trace timeline` shows of traces with distant times, and of traces with many events."""

from work import details, is_clean, view


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


TESTS = [a_distant_event_is_shown]
