"""The fixture book, which holds every construct once, comes out with Quarto's ids, numbers and words."""

import json
import re

import pytest


@pytest.fixture(scope="module")
def page(site):
    return (site / "chapters/01-constructs.html").read_text(encoding="utf-8").replace("\u00a0", " ")


@pytest.fixture(scope="module")
def second(site):
    return (site / "chapters/02-second.html").read_text(encoding="utf-8").replace("\u00a0", " ")


@pytest.fixture(scope="module")
def preface(site):
    return (site / "index.html").read_text(encoding="utf-8").replace("\u00a0", " ")


def element(html: str, identifier: str) -> str:
    """The text of an element, from its id to the end of the block that it starts."""
    start = html.index(f'id="{identifier}"')
    return " ".join(re.sub(r"<[^>]*>", " ", html[html.index(">", start) + 1 :][:3000]).split())


def test_title_block(page):
    assert '<h1 class="title" id="sec-constructs"><span class="chapter-number">1</span> All <em>' in page
    assert "<title>1 All constructs – Fixture &amp; Co</title>" in page
    assert '<p class="description">Every construct’s <em>one</em> place</p>' in page
    assert '<meta name="description" content="Every construct’s one place">' in page
    assert '<span class="exactness exactness-exact-in-law">exact in law</span>' in page
    assert '<a class="download" href="01-constructs.ipynb" download>Download this notebook</a>' in page


def test_a_page_from_text_offers_no_notebook(second):
    assert "Download this notebook" not in second
    assert '<p class="subtitle">From a text file</p>' in second


def test_sections_are_numbered_by_chapter(page, second, preface):
    assert '<h2 id="sec-idea"><span class="header-section-number">1.1</span> The idea</h2>' in page
    assert '<span class="header-section-number">1.1.1</span> Deeper</h3>' in page
    assert '<h2 class="unnumbered" id="left-out-of-the-count">Left out of the count</h2>' in page
    assert '<h2 id="start"><span class="header-section-number">2.1</span> Start</h2>' in second
    assert '<h2 id="a-section-without-a-number">A section without a number</h2>' in preface


def test_sidebar_lists_parts_and_chapters(page):
    assert '<span class="part-title">First part</span>' in page
    assert 'aria-current="page"><span class="chapter-number">1</span> All constructs</a>' in page
    assert page.index(">Preface</a>") < page.index("First part") < page.index(">References</a>")


def test_toc_nests_two_levels_and_takes_headings_of_outputs(page):
    toc = page[page.index('id="toc"', page.index("</main>")) :]
    assert '<a href="#sec-idea"><span class="header-section-number">1.1</span> The idea</a>\n<ul>' in toc
    assert 'href="#sec-asis"' in toc
    assert toc.count("<ul>") == toc.count("</ul>") and toc.count("<li>") == toc.count("</li>")


def test_previous_and_next(page):
    assert re.search(r'rel="prev" href="../index.html">.*Preface', page)
    assert re.search(r'rel="next" href="../chapters/02-second.html">.*The second chapter', page)


@pytest.mark.parametrize(
    ("href", "words"),
    [
        ("#fig-dot", "Figure 1.1"),
        ("#fig-ojs", "Figure 1.2"),
        ("#fig-cell", "Figure 1.3"),
        ("#tbl-pairs", "Table 1.1"),
        ("#tbl-cell", "Table 1.2"),
        ("../index.html#tbl-preface", "Table 1"),
        ("#eq-law", "Equation 1.1"),
        ("#sec-idea", "Section 1.1"),
        ("../chapters/02-second.html#sec-second", "Chapter 2"),
    ],
)
def test_references(page, href, words):
    assert f'<a href="{href}" class="xref">{words}</a>' in page


@pytest.mark.parametrize(
    ("label", "words"),
    [("thm-law", "1.1"), ("exr-first", "see 1.1"), ("fig-dot", "Figure 1.1"), ("tbl-pairs", "Table 1.1")],
)
def test_references_across_chapters(second, label, words):
    assert f'<a href="../chapters/01-constructs.html#{label}" class="xref">{words}</a>' in second


def test_several_references_in_one_bracket(second):
    assert re.search(r">Figure 1.1</a>, <a [^>]*>Table 1.1</a> and", second)


def test_captions(page):
    assert element(page, "fig-dot").startswith("Figure 1.1 : A dot with")
    assert element(page, "tbl-pairs").startswith("Table 1.1 : Pairs of p and q p q .5 .2")
    assert element(page, "fig-ojs").startswith("Figure 1.2 : Bars of")
    assert element(page, "fig-cell").startswith("Figure 1.3 : A cell’s figure")
    assert element(page, "tbl-cell").startswith("Table 1.2 : A table from Doe ( 2020 )")
    assert '<span class="caption-label">Figure 1.1</span>: A dot with' in page


def test_equation_has_its_number_beside_it(page):
    equation = page[page.index('id="eq-law" class="equation"') :]
    assert equation.index('<span class="katex-display">') < equation.index('class="equation-number">(1.1)</span>')


def test_formulas_are_typeset_everywhere(page):
    assert "<!--formula" not in page and "$x$" not in page and page.count('<span class="katex">') >= 9


def test_a_short_formula_keeps_the_punctuation_that_touches_it(page):
    assert re.search(r'<span class="nowrap"><span class="katex">(?:(?!nowrap).)*</span>,</span> a footnote', page)
    assert page.count('<span class="nowrap">') == 4  # $a_1$, $p$. $\alpha$. $\frac{1}{2}$.


def test_fonts_of_the_first_lines_are_preloaded(page, site):
    fonts = re.findall(r'<link rel="preload" href="\.\./assets/fonts/(.*?)\.\w+\.woff2" as="font"', page)
    text_fonts = [f"source-serif-4-latin-{style}" for style in ("400-normal", "400-italic", "600-normal")]
    assert fonts == [*text_fonts, "KaTeX_Main-Regular", "KaTeX_Math-Italic"]
    assert "KaTeX_Main-Regular" not in (site / "404.html").read_text(encoding="utf-8")  # a page without formulas


def test_images_have_alternative_text_and_size(page, site):
    assert '<img src="../images/dot.svg" style="aspect-ratio: 20 / 20;width:50.0%" alt="A black dot" />' in page
    assert (
        '<img src="01-constructs_files/figure-html/cell-6-output-2.png" alt="A blue rectangle" width="8" height="4">'
    ) in page
    assert (site / "chapters/01-constructs_files/figure-html/cell-6-output-2.png").read_bytes().startswith(b"\x89PNG")
    assert (site / "images/dot.svg").is_file()


def test_theorems_and_proofs(page):
    assert '<span class="theorem-title"><strong>Theorem 1.1 (The law)</strong></span> The emitted' in page
    assert '<span class="theorem-title"><strong>Exercise 1.1 (Close draft)</strong></span> Compute' in page
    assert '<span class="proof-title"><em>Proof</em>. </span>By <a' in page
    assert '<span class="proof-title"><em>Solution</em>. </span>It is .7.' in page


def test_callouts(page):
    folded = page[page.index('<details class="callout callout-note">') :]
    assert '<summary class="callout-title">\nA <em>folded</em> solution\n</summary>' in folded
    assert '<div class="callout callout-tip" role="note" aria-label="Tip">\n<p class="callout-title">\nTry' in page
    assert '<div class="callout callout-warning no-icon appearance-simple" role="note" aria-label="Warning">' in page


def test_tabset(page):
    buttons = re.findall(r'<button role="tab" id="([^"]+)" aria-controls="([^"]+)".*aria-selected="(\w+)"', page)
    assert buttons == [("tabset-1-1-tab", "tabset-1-1", "true"), ("tabset-1-2-tab", "tabset-1-2", "false")]
    assert '<div role="tabpanel" id="tabset-1-2" aria-labelledby="tabset-1-2-tab" hidden>' in page


def test_margin_and_footnote(page):
    assert '<div class="column-margin">' in page
    assert re.search(r'role="doc-noteref"><sup>1</sup>', page)
    assert re.search(r'<li id="fn1"><p>The note, with .*Figure 1.1</a>', page, re.DOTALL)


def test_code(page):
    assert '<div class="code-block"><pre tabindex="0"><code class="language-python"><span>x <span class="op">=' in page
    assert '<details class="code-fold"><summary>Show me</summary>' in page
    assert "True &lt;ok&gt;" in page
    assert "plain ```{ojs} text" in page and '<span class="in">```{ojs}</span>' in page


def test_cell_options(page):
    assert "hidden words" not in page and "hidden" in page
    assert "secret" not in page
    assert "ojs_define(payload" not in page
    assert '<div class="cell wide">' in page


def test_outputs(page):
    assert '<div class="cell-output cell-output-stdout"><pre tabindex="0"><code>said</code></pre></div>' in page
    assert "<table><tr><td>raw</td></tr></table>" in page


def test_bridge_data_stay_in_the_page(page):
    data = re.search(r'<script type="ojs-define">(.*?)</script>', page)[1]
    assert [entry["name"] for entry in json.loads(data)["contents"]] == ["payload", "word"]


def test_ojs(page, site):
    module = re.search(r'<script type="module" src="\.\./(assets/ojs/chapters-01-constructs\.\w+\.js)">', page)[1]
    compiled = (site / module).read_text(encoding="utf-8")
    assert "../../widgets/bars.js" in compiled and 'class="ojs-cell"' in page
    assert 'There are <span id="ojs-cell-5" data-ojs=""></span> bars and n is <span id="ojs-cell-6"' in page
    assert "n * 2" in compiled and '"say"' in compiled
    assert "ojs-cell-3" not in page  # output: false leaves no place
    assert "<code>${code}</code>" in page
    assert "shown, not run" not in compiled
    assert '["../../widgets/bars.js","../../widgets/lib/scale.js"]' in compiled  # fetched together, when near
    assert re.findall(r'<link rel="modulepreload" href="\.\./(\S+?)\.', page) == ["assets/ojs-runtime"]


def test_widgets_and_notebook_are_copied(site):
    assert (site / "widgets/lib/scale.js").is_file()
    assert json.loads((site / "chapters/01-constructs.ipynb").read_text(encoding="utf-8"))["cells"]


def test_citations_lead_to_the_references_page(page, second, site):
    assert 'Doe (<a class="citation" href="../references.html#ref-doe2020" role="doc-biblioref">2020</a>)' in page
    assert "Roe 2021, chap. 2</a>)" in page
    assert "On Guessing" not in page
    references = (site / "references.html").read_text(encoding="utf-8")
    assert 'id="ref-doe2020"' in references and 'id="ref-roe2021"' in references
    assert "Never Cited" not in references


def test_links_between_sources_become_links_between_pages(page, preface):
    assert '<a href="../index.html">a link</a>' in page and '<a href="02-second.html#start">another</a>' in page
    assert '<a href="chapters/01-constructs.html#sec-idea">one place</a>' in preface


def test_not_found_page_works_at_any_depth(site):
    page = (site / "404.html").read_text(encoding="utf-8")
    assert 'href="/assets/site.' in page and 'href="/chapters/01-constructs.html"' in page


def test_footer_and_language(preface):
    assert "<p>Text under <em>CC BY 4.0</em></p>" in preface
    assert '<html lang="en"' in preface


def test_pages_ask_no_other_host(site):
    for path in site.rglob("*.html"):
        assert not re.search(r'(?:src|<link[^>]*href)="(?:https?:)?//', path.read_text(encoding="utf-8")), path
