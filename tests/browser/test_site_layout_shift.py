"""Nothing moves while a page loads and is read, and what is far below is not loaded before it comes near."""

import time
from pathlib import Path

import pytest
from observing import STEP_MILLISECONDS

ROOT = Path(__file__).resolve().parents[2]
INSTRUMENTS = ROOT / "bench" / "site.js"
CHAPTER = "chapters/03-speculative-sampling.html"
MEASURE_AGAIN = "has a widget come or changed? measure its room: bench/site.py --heights"
MOST_SHIFT = 0.02  # 0.1 is what browsers' makers call good; a line that wraps once too often is about 0.02


@pytest.fixture
def measured(new_page, site):
    """Open a page with the instruments of bench/site.py in it, perhaps over a slow network."""

    def open_page(path, viewport="laptop", delay=None, **options):
        page = new_page(viewport, reduced_motion="reduce", **options)
        page.add_init_script(path=INSTRUMENTS)
        if delay:
            delay_requests(page, *delay)
        page.goto(f"{site}/{path}")
        page.evaluate("() => document.fonts.ready.then(instruments.painted)")
        return page

    return open_page


def delay_requests(page, pattern, milliseconds):
    """Answer what matches later than the rest."""

    def later(route):
        page.wait_for_timeout(milliseconds)
        route.continue_()

    page.route(pattern, later)


def shifts(page):
    """What moved, unless all of it together is hardly seen."""
    found = page.evaluate("() => [instruments.shift(), instruments.shifts]")
    return found[1] if found[0] > MOST_SHIFT else []


@pytest.mark.parametrize("viewport", ["phone", "laptop"])
def test_nothing_moves_from_the_first_line_to_the_last(measured, page_path, viewport):
    page = measured(page_path, viewport)
    page.evaluate("() => instruments.read()")
    assert shifts(page) == [], MEASURE_AGAIN


@pytest.mark.parametrize("late", ["**/*.woff2", "**/*.png", "**/assets/site.*.js"])
def test_nothing_moves_when_a_file_is_late(measured, late):
    page = measured(CHAPTER, delay=(late, 300))
    assert shifts(page) == []


def test_the_measure_sees_what_moves(measured):
    page = measured(CHAPTER)
    page.evaluate(
        """async () => {
            document.getElementById('content').style.paddingTop = '300px';
            await new Promise(done => requestAnimationFrame(() => setTimeout(done, 100)));
        }"""
    )
    assert shifts(page) != []


@pytest.mark.parametrize("viewport", ["phone", "laptop"])
def test_the_room_kept_for_a_cell_is_the_room_that_it_takes(measured, viewport):
    page = measured(CHAPTER, viewport)
    kept, taken = page.evaluate(
        """async () => {
            const cells = [...document.querySelectorAll('div[data-ojs]')];
            const kept = cells.map(cell => parseFloat(getComputedStyle(cell).minHeight) || 0);
            await instruments.read();
            const rooms = Object.values(instruments.rooms());
            return [kept, rooms];
        }"""
    )
    assert len(kept) == len(taken) >= 3
    assert [
        (before, after)
        for before, after in zip(kept, taken, strict=True)
        if abs(before - after) > 24
    ] == [], MEASURE_AGAIN


ALL_NEAR_DRAWN = """() => [...document.querySelectorAll('[data-ojs]')].every(cell => {
    const {top, bottom} = cell.getBoundingClientRect();
    return cell.dataset.ojsState || bottom < -innerHeight || top > 2 * innerHeight;
})"""


def drawn(page):
    return page.evaluate(
        "() => [...document.querySelectorAll('[data-ojs]')].map(cell => cell.dataset.ojsState || null)"
    )


def test_widgets_are_loaded_when_they_come_near(measured):
    page = measured(CHAPTER)
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    assert set(drawn(page)) == {None}, "the first widget stands more than a window below"
    loaded = page.evaluate(
        "() => performance.getEntriesByType('resource').map(entry => entry.name)"
    )
    assert not [url for url in loaded if "/widgets/" in url]
    page.evaluate(
        "() => scrollTo(0, document.querySelector('[data-ojs]').getBoundingClientRect().top - 1.9 * innerHeight)"
    )
    page.wait_for_function(
        "() => document.querySelector('[data-ojs]').dataset.ojsState === 'ready'"
    )
    assert [url for url in asked if "/widgets/round-stepper.js" in url]
    assert drawn(page)[-1] is None
    assert not [url for url in asked if "/widgets/speedup-explorer.js" in url]


def test_the_modules_of_a_widget_are_asked_for_together(measured):
    """Not one after the other as each is read: that would cost a round trip for every step of the chain."""
    page = measured(CHAPTER)
    held = []
    page.route("**/widgets/**", lambda route: held.append(route))
    page.evaluate("() => document.querySelector('[data-ojs]').scrollIntoView()")
    end = time.monotonic() + STEP_MILLISECONDS / 1000
    while not is_chain(held) and time.monotonic() < end:
        page.wait_for_timeout(50)
    assert is_chain(held), [route.request.url for route in held]
    for route in held:
        route.continue_()


def is_chain(routes) -> bool:
    """Whether a widget, what it imports and what that imports are all there, though none has been answered."""
    names = {route.request.url.rpartition("/")[2] for route in routes}
    return {"round-stepper.js", "frame.js", "styles.js", "observable.js"} <= names


def test_an_address_within_the_page_is_reached_whatever_is_drawn_on_the_way(new_page, site):
    for viewport in ("phone", "laptop"):
        page = new_page(viewport)
        page.goto(f"{site}/{CHAPTER}#sec-pitfalls")
        page.wait_for_function(ALL_NEAR_DRAWN)
        top = page.evaluate(
            "() => document.getElementById('sec-pitfalls').getBoundingClientRect().top"
        )
        assert 0 <= top < 120
