"""Words of the glossary: the meaning comes on hover, focus and touch, stays while wanted, and is in no one's way."""

import pytest
from observing import axe_findings, overflowing

GLOSSARY = "notation.html"
CHAPTERS = [
    "chapters/02-generation.html",
    "chapters/04-medusa.html",
    "chapters/08-smc-sd.html",
]
CHAPTER = CHAPTERS[1]
MARK = "a.term"
SHOWN = ".meaning:popover-open"


@pytest.fixture
def chapter(new_page, site):
    """Open a chapter in a fresh page."""

    def open_chapter(path=CHAPTER, **options):
        page = new_page(**options)
        page.goto(f"{site}/{path}")
        return page

    return open_chapter


def focus_by_keyboard(page, mark):
    """Focus a mark as Tab would, wherever in the page it is."""
    page.keyboard.press("Shift")  # the last input then is the keyboard's
    mark.focus()


def meaning_of(mark):
    return mark.evaluate(
        "mark => document.getElementById(mark.getAttribute('aria-describedby')).textContent"
    )


def move_away(page):
    page.mouse.move(2, 300)


def test_hovering_shows_the_meaning_that_the_glossary_gives(chapter, site):
    page = chapter()
    mark = page.locator(MARK).first
    mark.hover()
    shown = page.locator(SHOWN)
    shown.wait_for()
    words = shown.text_content()
    mark.click()
    page.wait_for_url(f"{site}/{GLOSSARY}#term-*")
    entry = page.evaluate(
        "() => document.querySelector(':target').closest('dt').nextElementSibling.textContent"
    )
    assert " ".join(entry.split()).startswith(words)


def test_the_meaning_stays_under_the_pointer_and_goes_when_it_leaves(chapter):
    page = chapter()
    page.locator(MARK).first.hover()
    shown = page.locator(SHOWN)
    shown.hover()
    page.wait_for_timeout(500)
    assert shown.is_visible()
    move_away(page)
    shown.wait_for(state="hidden")


def test_escape_puts_the_meaning_away_though_the_pointer_stays(chapter):
    page = chapter()
    page.locator(MARK).first.hover()
    shown = page.locator(SHOWN)
    shown.wait_for()
    page.keyboard.press("Escape")
    page.wait_for_timeout(500)
    assert shown.count() == 0


def test_a_pointer_on_its_way_opens_nothing(chapter):
    page = chapter()
    page.locator(MARK).first.hover()
    move_away(page)
    page.wait_for_timeout(500)
    assert page.locator(SHOWN).count() == 0


def test_the_focus_shows_the_meaning_and_takes_it_along(chapter):
    page = chapter()
    first, second = page.locator(MARK).nth(0), page.locator(MARK).nth(1)
    focus_by_keyboard(page, first)
    assert page.locator(SHOWN).text_content() == meaning_of(first)
    while second.evaluate("mark => mark !== document.activeElement"):
        page.keyboard.press("Tab")
    assert page.locator(SHOWN).text_content() == meaning_of(second)
    page.keyboard.press("Escape")
    assert page.locator(SHOWN).count() == 0
    assert second.evaluate("mark => mark === document.activeElement")


def test_one_meaning_at_a_time(chapter):
    page = chapter()
    first, other = page.locator(MARK).first, page.locator(MARK).last
    focus_by_keyboard(page, first)
    other.hover()
    page.wait_for_function(
        "words => document.querySelector('.meaning:popover-open').textContent === words",
        arg=meaning_of(other),
    )
    assert page.locator(SHOWN).count() == 1


def test_a_click_follows_the_link_and_shows_nothing_on_the_way(chapter, site):
    page = chapter()
    page.locator(MARK).first.click()
    page.wait_for_url(f"{site}/{GLOSSARY}#term-*")


def test_a_first_tap_shows_and_a_second_one_follows(chapter, site):
    page = chapter(viewport="phone", has_touch=True)
    mark = page.locator(MARK).first
    mark.tap()
    assert page.locator(SHOWN).text_content() == meaning_of(mark)
    page.touchscreen.tap(5, 400)
    assert page.locator(SHOWN).count() == 0
    mark.tap()
    page.locator(SHOWN).wait_for()
    mark.tap()
    page.wait_for_url(f"{site}/{GLOSSARY}#term-*")


@pytest.mark.parametrize("path", CHAPTERS)
def test_every_meaning_fits_into_the_narrowest_window(chapter, path):
    page = chapter(path)
    page.set_viewport_size({"width": 320, "height": 640})
    for mark in page.locator(MARK).all():
        focus_by_keyboard(page, mark)
        box = page.locator(SHOWN).bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= 320, meaning_of(mark)
        assert box["y"] >= 0 and box["y"] + box["height"] <= 640, meaning_of(mark)
    assert overflowing(page) == []


def test_nothing_moves_when_a_meaning_comes(chapter):
    page = chapter()
    mark = page.locator(MARK).nth(3)
    mark.scroll_into_view_if_needed()
    measure = "() => [...document.querySelectorAll('main > *')].map(block => block.getBoundingClientRect().top)"
    before = page.evaluate(measure)
    focus_by_keyboard(page, mark)
    page.locator(SHOWN).wait_for()
    assert page.evaluate(measure) == before


@pytest.mark.parametrize(
    ("path", "theme"),
    [(CHAPTERS[0], "dark"), (CHAPTERS[1], "light"), (CHAPTERS[2], "dark")],
)
def test_axe_finds_nothing_while_a_meaning_is_shown(chapter, path, theme):
    page = chapter(path, theme=theme)
    focus_by_keyboard(page, page.locator(MARK).nth(1))
    page.locator(SHOWN).wait_for()
    assert axe_findings(page) == []


def test_a_mark_is_described_by_its_meaning(chapter):
    page = chapter()
    mark = page.locator(MARK).first
    session = page.context.new_cdp_session(page)
    root = session.send("DOM.getDocument")["root"]["nodeId"]
    node = session.send("DOM.querySelector", {"nodeId": root, "selector": MARK})["nodeId"]
    tree = session.send(
        "Accessibility.getPartialAXTree", {"nodeId": node, "fetchRelatives": False}
    )
    assert tree["nodes"][0]["description"]["value"] == meaning_of(mark)


def test_without_scripts_a_mark_is_a_link_and_no_meaning_is_seen(chapter, site):
    page = chapter(java_script_enabled=False)
    mark = page.locator(MARK).first
    mark.hover()
    assert not page.locator(".meaning").first.is_visible()
    mark.click()
    page.wait_for_url(f"{site}/{GLOSSARY}#term-*")


def test_on_paper_a_mark_is_plain_text(chapter):
    page = chapter()
    focus_by_keyboard(page, page.locator(MARK).first)
    page.emulate_media(media="print")
    line = page.locator(MARK).first.evaluate(
        "mark => getComputedStyle(mark).textDecorationLine"
    )
    assert line == "none"
    assert not page.locator(".meaning").first.is_visible()


def test_the_search_does_not_find_the_meanings(chapter):
    page = chapter(CHAPTERS[0])
    words = page.locator(".meaning").first.text_content()
    page.keyboard.press("/")
    page.get_by_role("searchbox").fill(f'"{words}"')
    page.get_by_role("status").filter(has_text="“").wait_for()
    found = page.locator(".search-results a").evaluate_all(
        "links => links.map(link => link.pathname)"
    )
    assert found and {path.split("/")[-1] for path in found} == {GLOSSARY}


def test_all_tables_of_the_notation_fit_a_phone(new_page, site):
    page = new_page("phone")
    page.goto(f"{site}/{GLOSSARY}")
    page.evaluate("() => document.fonts.ready")
    wide = page.locator(".table-scroll").evaluate_all(
        "boxes => boxes.filter(box => box.scrollWidth > box.clientWidth).map(box => box.innerText.slice(0, 60))"
    )
    assert wide == []
