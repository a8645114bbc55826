"""The frame around every page: theme, menus, code, tabs and folds, each worked by the keyboard where it can be."""

import re

import pytest

CONTENT = """
<h1 class="title">Parts</h1>
<div class="code-block"><pre tabindex="0"><code class="language-python">print("guess")
print("verify")</code></pre></div>
<div class="panel-tabset"><div role="tablist" aria-label="Views">
<button role="tab" id="t1" aria-controls="p1" aria-selected="true">One</button>
<button role="tab" id="t2" aria-controls="p2" aria-selected="false" tabindex="-1">Two</button>
<button role="tab" id="t3" aria-controls="p3" aria-selected="false" tabindex="-1">Three</button></div>
<div role="tabpanel" id="p1" aria-labelledby="t1">first</div>
<div role="tabpanel" id="p2" aria-labelledby="t2" hidden>second</div>
<div role="tabpanel" id="p3" aria-labelledby="t3" hidden><p id="deep">third</p></div></div>
<details class="code-fold"><summary>Code</summary><p id="folded">folded</p></details>
"""


def theme(page):
    return page.evaluate("() => document.documentElement.dataset.theme")


@pytest.fixture
def parts_page(site):
    """Open the frame of the first page around known content, so that every part of it is there."""

    def open_page(page, fragment=""):
        def with_known_content(route):
            answer = route.fetch()
            body = re.sub(
                r"(<main[^>]*>).*(</main>)",
                rf"\1{CONTENT}\2",
                answer.text(),
                flags=re.DOTALL,
            )
            route.fulfill(response=answer, body=body)

        page.route("**/index.html", with_known_content)
        page.goto(f"{site}/index.html{fragment}")
        return page

    return open_page


@pytest.mark.parametrize(("system", "other"), [("light", "dark"), ("dark", "light")])
def test_theme_follows_the_system_is_switched_and_remembered(new_page, site, system, other):
    page = new_page(theme=system)
    page.goto(f"{site}/index.html")
    assert theme(page) == system
    page.get_by_role("button", name="Dark theme").click()
    assert theme(page) == other
    page.goto(f"{site}/references.html")
    assert theme(page) == other


def test_theme_follows_the_system_while_the_page_is_open(new_page, site):
    page = new_page(theme="light")
    page.goto(f"{site}/index.html")
    page.emulate_media(color_scheme="dark")
    page.wait_for_function("() => document.documentElement.dataset.theme === 'dark'")


def test_the_remembered_theme_stands_before_anything_is_painted(new_page, site):
    page = new_page(theme="light")
    page.goto(f"{site}/index.html")
    page.get_by_role("button", name="Dark theme").click()
    page.add_init_script(
        """new MutationObserver((_, observer) => {
            if (!document.body) return;
            window.themeAtBody = document.documentElement.dataset.theme;
            observer.disconnect();
        }).observe(document, {childList: true, subtree: true});"""
    )
    page.reload()
    assert page.evaluate("() => window.themeAtBody") == "dark"


def test_the_first_tab_stop_leads_to_the_text(new_page, site):
    page = new_page()
    page.goto(f"{site}/index.html")
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.className") == "skip-link"
    page.keyboard.press("Enter")
    assert page.evaluate("() => document.activeElement.id") == "content"


def test_chapters_open_on_a_phone_by_keyboard_and_lead_on(new_page, site):
    page = new_page("phone")
    page.goto(f"{site}/index.html")
    chapters = page.get_by_role("navigation", name="Chapters")
    assert not chapters.is_visible()
    page.get_by_role("button", name="Chapters").focus()
    page.keyboard.press("Enter")
    assert chapters.is_visible()
    page.keyboard.press("Escape")
    assert not chapters.is_visible()
    page.keyboard.press("Enter")
    chapters.get_by_role("link", name="Speculative sampling").click()
    page.wait_for_url("**/chapters/03-speculative-sampling.html")


def test_the_sidebar_names_the_current_page(new_page, site):
    page = new_page()
    page.goto(f"{site}/chapters/03-speculative-sampling.html")
    current = page.locator('#sidebar [aria-current="page"]')
    assert current.count() == 1
    assert "Speculative sampling" in current.inner_text()


def test_previous_and_next_walk_through_the_whole_book(new_page, site):
    page = new_page()
    page.goto(f"{site}/index.html")
    listed = page.locator("#sidebar a").evaluate_all(
        "links => links.map(link => link.href)"
    )
    walked = [page.url]
    following = page.locator('.page-nav [rel="next"]')
    while following.count():
        target = following.evaluate("link => link.href")
        following.click()
        page.wait_for_url(target)
        walked.append(target)
    assert walked == listed


def test_copy_button_copies_the_code(new_page, parts_page):
    page = parts_page(new_page(permissions=["clipboard-read", "clipboard-write"]))
    page.get_by_role("button", name="Copy code").click()
    assert (
        page.evaluate("() => navigator.clipboard.readText()")
        == 'print("guess")\nprint("verify")'
    )
    page.get_by_role("button", name="Copied").wait_for()


def test_tabs_move_by_arrow_keys_home_and_end(new_page, parts_page):
    page = parts_page(new_page())
    shown = page.locator("[role=tabpanel]:visible")
    page.get_by_role("tab", name="One").focus()
    for key, text in [
        ("ArrowRight", "second"),
        ("End", "third"),
        ("ArrowRight", "first"),
        ("ArrowLeft", "third"),
        ("Home", "first"),
    ]:
        page.keyboard.press(key)
        assert shown.all_inner_texts() == [text]
        focused = page.evaluate(
            "() => document.activeElement.getAttribute('aria-selected')"
        )
        assert focused == "true"


def test_tabs_change_by_pointer(new_page, parts_page):
    page = parts_page(new_page())
    page.get_by_role("tab", name="Two").click()
    assert page.locator("[role=tabpanel]:visible").all_inner_texts() == ["second"]


@pytest.mark.parametrize("target", ["deep", "folded"])
def test_an_address_opens_the_tab_or_fold_that_hides_its_target(
    new_page, parts_page, target
):
    page = parts_page(new_page(), f"#{target}")
    assert page.locator(f"#{target}").is_visible()
