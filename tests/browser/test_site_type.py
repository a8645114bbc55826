"""The page's own typeface, and the one that stands in for it: both set the same lines."""

import pytest
from headless import settle

CHAPTER = "chapters/03-speculative-sampling.html"


@pytest.fixture
def opened(new_page, site):
    def open_page(viewport="laptop", without=None):
        page = new_page(viewport)
        if without:
            page.route(without, lambda route: route.abort())
        page.goto(f"{site}/{CHAPTER}")
        settle(page)
        return page

    return open_page


def test_the_text_is_set_in_the_pages_own_type(opened):
    page = opened()
    page.reload()  # a first visit on a slow machine may go without it: font-display is optional
    settle(page)
    loaded = page.evaluate(
        """() => [...document.fonts].filter(font => font.family.includes('Source Serif') && font.status === 'loaded')
            .map(font => `${font.weight} ${font.style}`)"""
    )
    assert {face.replace("normal ", "400 ") for face in loaded} == {
        "400 normal",
        "400 italic",
        "600 normal",
    }


@pytest.mark.parametrize("viewport", ["phone", "laptop"])
def test_without_it_paragraphs_take_the_same_room(opened, viewport):
    heights = """() => [...document.querySelectorAll('#content > p')].map(paragraph => paragraph.offsetHeight)"""
    own = opened(viewport).evaluate(heights)
    fitted = opened(viewport, without="**/source-serif*").evaluate(heights)
    assert len(own) == len(fitted) > 20
    assert sum(fitted) == pytest.approx(sum(own), rel=0.03)


def test_punctuation_stays_with_the_formula_before_it(opened):
    page = opened("phone")
    torn = page.evaluate(
        """() => [...document.querySelectorAll('.nowrap')].filter(span => {
            const formula = span.querySelector('.katex-html').getBoundingClientRect();
            const end = document.createRange();
            end.selectNodeContents(span);
            const boxes = [...end.getClientRects()];
            return boxes.at(-1).top > formula.bottom;
        }).map(span => span.textContent)"""
    )
    assert page.locator(".nowrap").count() > 20
    assert torn == []


def test_no_formula_reaches_over_the_edge_of_a_phone(opened):
    page = opened("phone")
    over = page.evaluate(
        """() => [...document.querySelectorAll('.nowrap')]
            .filter(span => span.getBoundingClientRect().right > innerWidth).map(span => span.textContent)"""
    )
    assert over == []
