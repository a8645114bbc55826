"""On paper: the text without the frame, light, nothing cut off, nothing folded away, a figure for each widget."""

import pytest

CHAPTER = "chapters/03-speculative-sampling.html"
A4 = {"width": 794, "height": 1123}


@pytest.fixture
def paper(new_page, site):
    """Open a page as it is printed; it has not been scrolled, so most widgets were never drawn."""

    def open_page(path, theme="light"):
        page = new_page(theme=theme)
        page.set_viewport_size(A4)
        page.goto(f"{site}/{path}")
        page.emulate_media(media="print")
        return page

    return open_page


def test_nothing_is_cut_off(paper, page_path):
    page = paper(page_path)
    wide = page.evaluate(
        """() => [...document.querySelectorAll('#content *')]
            .filter(element => !element.closest('.katex-mathml, svg, .visually-hidden'))
            .filter(element => element.getBoundingClientRect().right > innerWidth + 1)
            .map(element => element.outerHTML.slice(0, 100))"""
    )
    assert wide == []


@pytest.mark.parametrize(
    "selector", [".site-header", "#sidebar", "#toc", ".page-nav", ".copy-code", ".download"]
)
def test_the_frame_is_not_printed(paper, selector):
    page = paper(CHAPTER)
    found = page.locator(selector)
    assert (
        found.count() > 0 or selector == ".copy-code"
    )  # without a clipboard there is none
    assert not any(element.is_visible() for element in found.all())


def test_paper_is_white_whatever_the_theme(paper):
    page = paper(CHAPTER, theme="dark")
    assert page.evaluate("() => document.documentElement.dataset.theme") == "dark"
    ground, ink = page.evaluate(
        "() => [getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]"
    )
    assert ground == "rgb(255, 255, 255)"
    assert ink == "rgb(29, 33, 38)"


def test_folds_stand_open(paper):
    page = paper(CHAPTER)
    fold = page.locator("details.code-fold:not([open])").first
    assert fold.locator("pre").bounding_box()["height"] > 30


def test_links_out_of_the_book_say_where_they_lead(paper):
    page = paper(CHAPTER)
    page.evaluate(
        """() => document.querySelector('#content p').innerHTML =
            '<a id="out" href="https://example.org/x">out</a> <a id="in" href="#sec-idea">in</a>'"""
    )
    after = "id => getComputedStyle(document.getElementById(id), '::after').content"
    assert page.evaluate(after, "out") == '" (https://example.org/x)"'
    assert page.evaluate(after, "in") == "none"


def test_every_widget_leaves_a_figure_or_a_word(paper):
    page = paper(CHAPTER)
    stand_ins = page.locator(".widget-static")
    assert stand_ins.count() >= 3
    assert all(block.is_visible() for block in stand_ins.all())
    assert not any(
        cell.is_visible() for cell in page.locator(".ojs-cell:not([data-ojs-state])").all()
    )
    page.evaluate(
        "() => document.querySelectorAll('.widget-static').forEach(block => block.remove())"
    )
    caption = page.locator("figure:has(.ojs-cell) figcaption").first
    word = caption.evaluate("caption => getComputedStyle(caption, '::after').content")
    assert "draws this figure" in word


def test_printing_fetches_the_stand_ins_that_the_screen_did_not(paper):
    page = paper(CHAPTER)
    assert page.pdf(format="A4").startswith(b"%PDF")
    images = page.locator(".widget-static img").evaluate_all(
        "all => all.map(image => image.src)"
    )
    fetched = page.evaluate(
        "() => performance.getEntriesByType('resource').map(entry => entry.name)"
    )
    assert images
    assert set(images) <= set(fetched)
