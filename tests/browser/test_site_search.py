"""Search: opened by keyboard or button, it leads to the section that holds the words, under the strict policy."""

import re

import pytest
from headless import settle
from observing import Watch, axe_findings, overflowing

CHAPTER = "chapters/03-speculative-sampling.html"


@pytest.fixture
def searching(new_page, site):
    """Open a page and its search, with nothing wrong on it before and after; return the page and its parts."""
    watches = []

    def open_search(path="index.html", viewport="laptop", **options):
        page = new_page(viewport, **options)
        watches.append(Watch(page))
        page.goto(f"{site}/{path}")
        page.get_by_role("button", name="Search").click()
        return page, page.get_by_role("searchbox", name="Search the book")

    yield open_search
    assert [problem for watch in watches for problem in watch.problems] == []


def found(page, words):
    """Type words and wait for what they bring: the sentence that is read aloud, and the links."""
    page.get_by_role("searchbox").fill(words)
    status = page.locator("#search [role=status]")
    status.filter(has_text=words).wait_for()
    return status.inner_text(), page.locator("#search li a")


@pytest.mark.parametrize("viewport", ["phone", "laptop"])
@pytest.mark.parametrize("path", ["index.html", CHAPTER])
def test_words_lead_to_the_section_that_holds_them(searching, path, viewport):
    page, _ = searching(path, viewport)
    status, links = found(page, "residual")
    assert re.match(r"\d+ places? for", status)
    link = links.filter(has=page.get_by_text(re.compile(r"^\d+\.\d+ The accept rule$")))
    assert "<mark>" in link.inner_html()
    link.click()
    page.wait_for_url(f"**/{CHAPTER}#sec-rule")
    assert not page.locator("#search").is_visible()
    heading = page.locator("h2", has_text="The accept rule")
    page.wait_for_function(
        "heading => Math.abs(heading.getBoundingClientRect().top - 72) < 40",
        arg=heading.element_handle(),
    )


def test_opens_by_slash_and_ctrl_k_and_closes_by_escape(new_page, site):
    page = new_page()
    page.goto(f"{site}/index.html")
    dialog = page.get_by_role("dialog", name="Search")
    for keys in ("/", "Control+k"):
        page.keyboard.press(keys)
        assert dialog.is_visible()
        assert page.evaluate("() => document.activeElement.type") == "search"
        page.keyboard.press("Escape")
        assert not dialog.is_visible()


def test_focus_returns_to_the_button(searching):
    page, _ = searching()
    page.keyboard.press("Escape")
    assert page.evaluate("() => document.activeElement.id") == "search-button"


def test_a_slash_that_is_typed_stays_a_slash(searching):
    page, field = searching()
    page.keyboard.type("p/q")
    assert field.input_value() == "p/q"


def test_arrow_keys_walk_through_the_results_and_enter_takes_one(searching):
    page, _ = searching()
    _, links = found(page, "draft")
    focused = "() => document.activeElement.href || document.activeElement.type"
    first, second = links.nth(0).get_attribute("href"), links.nth(1).get_attribute("href")
    for key, target in [
        ("ArrowDown", first),
        ("ArrowDown", second),
        ("ArrowUp", first),
        ("ArrowUp", "search"),
    ]:
        page.keyboard.press(key)
        assert page.evaluate(focused).endswith(target)
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{first}")


def test_what_is_not_there_is_said(searching):
    page, _ = searching()
    status, links = found(page, "юла")
    assert status == "Nothing found for “юла”."
    assert links.count() == 0


@pytest.mark.parametrize("word", ["manual_seed", "mathrm"])
def test_code_and_tex_are_not_searched(searching, word):
    page, _ = searching()
    found(page, word)
    marked = page.locator("#search mark").all_inner_texts()
    assert not [match for match in marked if word in match]


def test_the_index_is_loaded_when_the_search_first_opens(new_page, site):
    page = new_page()
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{site}/index.html")
    settle(page)
    assert not [url for url in asked if "/search/" in url]
    page.keyboard.press("/")
    page.wait_for_event("requestfinished", lambda request: "pagefind" in request.url)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("viewport", ["phone", "laptop"])
def test_the_dialog_is_accessible_and_fits(searching, viewport, theme):
    page, _ = searching(viewport=viewport, theme=theme)
    found(page, "distribution")
    assert [*axe_findings(page), *overflowing(page)] == []


def test_a_missing_index_is_said(new_page, site):
    page = new_page()
    page.route("**/assets/search/*", lambda route: route.abort())
    page.goto(f"{site}/index.html")
    page.keyboard.press("/")
    page.get_by_role("searchbox").fill("draft")
    page.get_by_text("The search index could not be loaded.").wait_for()
