"""The ways through a page for who has no mouse or no screen: what each stop is called, and that all can be reached."""

import pytest
from observing import axe_findings, overflowing

CHAPTER = "chapters/03-speculative-sampling.html"


def stops(page, most):
    """Press Tab and note where it leads: the accessible names of the first stops."""
    found = []
    for _ in range(most):
        page.keyboard.press("Tab")
        found.append(
            page.evaluate(
                """() => {
                    const element = document.activeElement;
                    return element.getAttribute('aria-label') || element.innerText.trim();
                }"""
            )
        )
    return found


def test_the_first_stops_are_the_frame_in_the_order_of_the_eye(new_page, site):
    page = new_page()
    page.goto(f"{site}/index.html")
    first = stops(page, 5)
    assert first[:2] == ["Skip to the text", "Guess, Then Verify"]
    assert first[2].startswith("Search")
    assert first[3:] == ["Dark theme", "Preface"]


def test_after_the_skip_link_comes_the_text(new_page, site):
    page = new_page()
    page.goto(f"{site}/{CHAPTER}")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert stops(page, 1) == ["Download this notebook"]


def test_focus_is_seen_at_every_stop_of_the_frame(new_page, site):
    page = new_page()
    page.goto(f"{site}/index.html")
    for _ in range(12):
        page.keyboard.press("Tab")
        outline = page.evaluate(
            """() => {
                const {outlineStyle, outlineWidth} = getComputedStyle(document.activeElement);
                return [outlineStyle, parseFloat(outlineWidth)];
            }"""
        )
        assert outline[0] != "none" and outline[1] >= 2, page.evaluate(
            "() => document.activeElement.outerHTML"
        )


def test_landmarks_have_names(new_page, site, page_path):
    page = new_page()
    page.goto(f"{site}/{page_path}")
    assert page.get_by_role("main").count() == 1
    assert page.get_by_role("banner").count() == 1
    assert page.get_by_role("navigation", name="Chapters").count() == 1
    names = page.evaluate(
        "() => [...document.querySelectorAll('nav')].map(nav => nav.getAttribute('aria-label'))"
    )
    assert all(names) and len(set(names)) == len(names)


def test_headings_step_down_one_level_at_a_time(new_page, site, page_path):
    page = new_page()
    page.goto(f"{site}/{page_path}")
    levels = page.evaluate(
        "() => [...document.querySelectorAll('#content :is(h1, h2, h3, h4)')].map(heading => +heading.localName[1])"
    )
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(
        after <= before + 1 for before, after in zip(levels, levels[1:], strict=False)
    )


def test_code_is_reached_and_scrolled_by_keyboard(new_page, site):
    page = new_page("phone")
    page.goto(f"{site}/{CHAPTER}")
    code = page.locator("pre").first
    code.focus()
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    page.wait_for_function("code => code.scrollLeft > 0", arg=code.element_handle())


def test_a_folded_listing_opens_by_keyboard(new_page, site):
    page = new_page()
    page.goto(f"{site}/{CHAPTER}")
    fold = page.locator("details.code-fold").first
    fold.locator("summary").focus()
    page.keyboard.press("Enter")
    assert fold.locator("pre").is_visible()


@pytest.mark.parametrize("name", ["Chapters", "On this page"])
def test_a_list_opened_on_a_phone_takes_the_focus_and_gives_it_back(new_page, site, name):
    page = new_page("phone")
    page.goto(f"{site}/{CHAPTER}")
    button = page.get_by_role("button", name=name, exact=True)
    button.focus()
    page.keyboard.press("Enter")
    panel = page.get_by_role("navigation", name=name)
    page.keyboard.press("Tab")
    assert panel.evaluate("panel => panel.contains(document.activeElement)")
    page.keyboard.press("Escape")
    assert not panel.is_visible()
    assert button.evaluate("button => button === document.activeElement")


@pytest.mark.parametrize("viewport", ["phone", "laptop"])
def test_a_wrong_address_leads_on(new_page, site, viewport):
    page = new_page(viewport)
    page.goto(f"{site}/404.html")
    pages = page.get_by_role("navigation", name="Pages")
    assert pages.get_by_role("link").count() >= 3
    assert [*overflowing(page), *axe_findings(page)] == []
    pages.get_by_role("link", name="Speculative sampling").click()
    page.wait_for_url(f"**/{CHAPTER}")


def test_without_scripts_there_is_no_button_that_does_nothing(new_page, site):
    page = new_page(java_script_enabled=False)
    page.goto(f"{site}/{CHAPTER}")
    for name in ("Search", "Dark theme"):
        assert not page.get_by_role("button", name=name).is_visible()
    assert page.locator("h2").first.is_visible()
