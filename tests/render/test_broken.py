"""Broken sources: each gives a message that names the file and the cell (or the line) and says what is wrong."""

import nbformat.v4 as v4
import pytest

from conftest import CONFIG, FRONT_MATTER, code_cell, display

CHAPTER = "chapters/01-first.ipynb"
PNG = "iVBORw0KGgo="

MARKDOWN = {
    "unknown reference": ("See @fig-nowhere.", "@fig-nowhere refers to nothing"),
    "reference to an unnumbered section": ("## A {#sec-a .unnumbered}\n\n@sec-a", "@sec-a refers to nothing"),
    "missing citation": ("As @nobody1999 says.", "@nobody1999 is neither a label nor in the bibliography"),
    "unknown callout": ("::: {.callout-hint}\nx\n:::", "unknown callout .callout-hint"),
    "unknown callout option": ('::: {.callout-tip colour="red"}\nx\n:::', "unknown option colour of a callout"),
    "wrong callout option": ('::: {.callout-tip collapse="maybe"}\nx\n:::', "collapse of a callout must be one of"),
    "unknown construct": ("::: {.content-visible}\nx\n:::", "unknown construct .content-visible"),
    "unknown div option": ('::: {layout-ncol="2"}\nx\n:::', "unknown option layout-ncol of a div"),
    "shortcode": ("{{< video a.mp4 >}}", "shortcodes"),
    "raw HTML": ("<iframe></iframe>", "raw html in the text"),
    "inline raw HTML": ("a <kbd>b</kbd>", "raw html <kbd> in the text"),
    "raw TeX": ("\\newpage", "raw tex"),
    "broken link": ("[x](nowhere.qmd)", "the link nowhere.qmd leads to no page"),
    "broken link to a place": ("[x](../index.qmd#nowhere)", "a link leads to #nowhere"),
    "broken link in the page": ("[x](#nowhere)", "a link leads to #nowhere"),
    "missing image": ("![x](nowhere.png){fig-alt='y'}", "the image nowhere.png does not exist"),
    "image of another host": ("![x](https://example.org/a.png)", "is on another host"),
    "image without words": ("![](../a.png)", "the image ../a.png has no alternative text"),
    "label without an owner": ("Words {#eq-a}.", "the label {#eq-a}"),
    "wrong kind of label": ("| a |\n|---|\n| 1 |\n\n: T {#fig-t}", "the label fig-t must begin with tbl-"),
    "undefined footnote": ("Words[^1].", "the footnote [^1]"),
    "unused footnote": ("Words.\n\n[^1]: A note.", "the footnote [^1] is never used"),
    "second level-1 heading": ("# Another", "a page has one level-1 heading"),
    "executable block": ("```{python}\n1\n```", "a {python} block would have to be executed"),
    "options in braces": ("```{ojs echo=false}\n1\n```", "the options of {ojs} go on lines of their own"),
    "inline code to execute": ("It is `{python} x`.", "would have to be executed"),
    "code block option": ('```{.python filename="a.py"}\n1\n```', "unknown option filename of a code block"),
    "unclosed div": ("::: {.callout-tip}\nx", "a div is opened here and not closed"),
    "unknown OJS option": ("```{ojs}\n//| colour: red\n1\n```", "unknown option colour of an OJS block"),
    "OJS options that are not YAML": ("```{ojs}\n//| echo: [\n1\n```", "what its options say is not YAML"),
    "OJS label": ("```{ojs}\n//| label: thm-a\n1\n```", "a cell can't carry the label thm-a"),
    "formula or expression": ("From ${a}–${b}.", "reads as a formula"),
    "unclosed expression": ("It is ${a + b.", "is not closed by }"),
    "braces in an expression": ("It is ${f({a})} now.", "braces, apostrophes and dashes"),
    "markup in an expression": ("It is ${a *b* c}.", "is not plain enough for Markdown"),
    "tabset without tabs": ("::: {.panel-tabset}\nx\n:::", "a tabset begins with the heading of its first tab"),
    "two images in a figure": ("::: {#fig-a}\n![a](a.png)\n\n![b](b.png)\n\nC\n:::", "knows no sub-figures"),
}

OUTPUTS = {
    "unknown option": (code_cell("#| colour: red\n1"), "unknown option colour of a code cell"),
    "wrong value": (code_cell("#| echo: fenced\n1"), "option echo of a code cell can't be 'fenced'"),
    "OJS option": (code_cell("#| eval: false\n1"), "unknown option eval of a code cell"),
    "error output": (
        code_cell("1/0", v4.new_output("error", ename="ZeroDivisionError", evalue="division by zero")),
        "ended in an error when it was executed: ZeroDivisionError division by zero",
    ),
    "error hidden by an option": (
        code_cell("#| output: false\n1/0", v4.new_output("error", ename="ZeroDivisionError", evalue="")),
        "ended in an error",
    ),
    "never executed": (code_cell("1", count=None), "was never executed"),
    "figure without alt": (
        code_cell("#| label: fig-a\n#| fig-cap: A\n1", display({"image/png": PNG})),
        "an image without fig-alt",
    ),
    "figure without an output": (
        code_cell("#| label: fig-a\n#| fig-cap: A\n#| fig-alt: B\n1"),
        "fig-a needs one output that is drawn, got 0",
    ),
    "caption of another kind": (
        code_cell("#| label: tbl-a\n#| fig-cap: A\n1", display({"text/plain": "1"})),
        "fig-cap does not go with the label tbl-a",
    ),
    "unknown form": (code_cell("1", display({"application/x-thing": "1"})), "has no form that a page can show"),
    "script": (code_cell("1", display({"text/html": "<script>1</script>"})), "an output holds a script"),
    "handler": (code_cell("1", display({"text/html": "<p onclick=f()>"})), "an output holds the handler onclick"),
    "image from another host": (
        code_cell("1", display({"text/html": "<img alt=a src=//example.org/a.png>"})),
        "an output asks another host for //example.org/a.png",
    ),
    "NaN in the bridge": (
        code_cell(
            "1",
            display(
                {"text/html": '<script type="ojs-define">{"contents":[{"name":"a","value":NaN}]}</script>'},
                ojs_define=True,
            ),
        ),
        "the data of ojs_define can't be read: NaN is no JSON",
    ),
    "bridge that ends its script": (
        code_cell(
            "1",
            display(
                {"text/html": '<script type="ojs-define">{"contents":[{"name":"a","value":"</script>"}]}</script>'},
                ojs_define=True,
            ),
        ),
        "may hold </script> unescaped",
    ),
    "bridge without its mark": (
        code_cell("1", display({"text/html": '<script type="ojs-define">{"contents":[]}</script>'})),
        "has lost its metadata",
    ),
    "unresolved in an output": (
        code_cell("#| output: asis\n1", v4.new_output("stream", name="stdout", text="@fig-none")),
        "@fig-none refers to nothing",
    ),
    "missing citation in a caption": (
        code_cell('#| tbl-cap: "By @none"\n1', display({"text/plain": "1"})),
        "@none is neither",
    ),
}


@pytest.mark.parametrize(("text", "message"), MARKDOWN.values(), ids=MARKDOWN)
def test_markdown(book, without_node, text, message):
    book.write("a.png", "")
    book.notebook("Fine.", text)
    assert [problem for problem in book.problems() if problem.startswith(f"{CHAPTER}, cell 3: ") and message in problem]


@pytest.mark.parametrize(("cell", "message"), OUTPUTS.values(), ids=OUTPUTS)
def test_cells(book, without_node, cell, message):
    book.notebook("Fine.", cell)
    assert [problem for problem in book.problems() if problem.startswith(f"{CHAPTER}, cell 3: ") and message in problem]


OJS = {
    "syntax error": ("```{ojs}\nf(\n```", "OJS syntax error"),
    "missing widget file": ('```{ojs}\nimport {f} from "../widgets/none.js"\n```', "there is no file widgets/none.js"),
    "missing export": ('```{ojs}\nimport {g} from "../widgets/f.js"\n```', "g"),
    "undefined name": ("```{ojs}\nnowhere + 1\n```", "nowhere is not defined"),
    "undefined inline name": ("It is ${nowhere} now.", "nowhere is not defined"),
    "TeX error": ("Let $\\frac{1$ be.", "TeX error"),
    "TeX error in an equation": ("$$\n\\nope\n$$ {#eq-a}", "TeX error"),
}


@pytest.mark.parametrize(("text", "message"), OJS.values(), ids=OJS)
def test_ojs_and_formulas(book, text, message):
    book.write("widgets/f.js", "export const f = 1;\n")
    book.notebook("Fine.", text)
    assert [problem for problem in book.problems() if problem.startswith(f"{CHAPTER}, cell 3: ") and message in problem]


def test_problems_in_a_text_file_name_the_line(book, without_node):
    book.write("index.qmd", "---\ntitle: Preface\n---\n\nWords.\n\nSee @fig-nowhere.\n")
    assert book.problems() == ["index.qmd, line 7: @fig-nowhere refers to nothing that has a number"]


def test_a_fence_may_not_span_cells(book, without_node):
    book.notebook("Fine.", "::: {.callout-tip}\nx", "y\n:::", "Fine.")
    assert f"{CHAPTER}, cell 3: a fenced block, div or comment is opened here and not closed" in book.problems()


def test_a_code_fence_may_not_swallow_the_next_cell(book, without_node):
    book.notebook("Fine.", "```python\nx", "y")
    assert f"{CHAPTER}, cell 3: a fenced block, div or comment is opened here and not closed" in book.problems()


def test_a_loose_code_fence(book, without_node):
    book.notebook("Fine.", "````python\nx", "y")
    assert f"{CHAPTER}, cell 3: the fence ````python opens or closes nothing" in book.problems()


def test_duplicate_label_names_both_places(book, without_node):
    book.notebook("$$x$$ {#eq-a}", "$$y$$ {#eq-a}")
    assert f"{CHAPTER}, cell 3: the label eq-a is already used in {CHAPTER}, cell 2" in book.problems()


def test_all_problems_are_told_at_once(book):
    book.notebook("See @fig-a.", "Let $\\nope$.", "```{ojs}\nf(\n```", "[x](#nowhere)")
    found = book.problems()
    assert [problem.split(": ")[0] for problem in found] == [f"{CHAPTER}, cell {cell}" for cell in (2, 5, 4, 3)]


@pytest.mark.parametrize(
    ("front", "message"),
    [
        ("---\ntitle: T\nfilters: [a.lua]\n---", "unknown key filters in the front matter"),
        ("---\ntitle: T\nexactness: nearly\n---", "exactness must be one of"),
        ("---\ntitle: [\n---", "front matter is not YAML"),
        ("---\ndescription: D\n---", "has no title"),
        ("no front matter", "must be a raw cell with YAML"),
    ],
)
def test_front_matter(book, without_node, front, message):
    book.notebook("Words.", front=front)
    assert [problem for problem in book.problems() if problem.startswith(f"{CHAPTER}, cell 1: ") and message in problem]


def test_a_file_that_is_no_notebook(book, without_node):
    for text in ("{}", "[]", "words", '{"nbformat": 3}'):
        book.write(CHAPTER, text)
        assert [problem for problem in book.problems() if problem.startswith(f"{CHAPTER}: is not a notebook")]


def test_an_output_with_an_image_without_words(book, without_node):
    book.notebook(code_cell("1", display({"text/html": '<img src="data:,">'})))
    assert book.problems() == [f"{CHAPTER}, cell 2: an output holds the image data:, without alternative text"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("  title: Small", "  title: Small\n  downloads: [pdf]", "unknown key book.downloads"),
        ("bibliography:", "filters: [a.lua]\nbibliography:", "unknown key filters"),
        ("type: book", "type: website", "project.type must be 'book'"),
        ("01-first.ipynb", "09-none.ipynb", "names chapters/09-none.ipynb, which does not exist"),
        ("references.bib", "none.bib", "names none.bib, which does not exist"),
        ("[index.qmd, ", "[", "must begin with index.qmd"),
        ("book:", "format:\n  pdf: default\nbook:", "unknown key format.pdf"),
        ("title: Small", "title: [", "is not YAML"),
    ],
)
def test_configuration(book, old, new, message):
    assert old in CONFIG
    book.write("_quarto.yml", CONFIG.replace(old, new, 1))
    assert [problem for problem in book.problems() if problem.startswith("_quarto.yml: ") and message in problem]


def test_citations_need_a_page_that_lists_them(book, without_node):
    book.write("index.qmd", "# Preface\n\nBy @doe2020.\n")
    assert [problem for problem in book.problems() if "lists them in ::: {#refs}" in problem]


def test_a_bibliography_that_can_not_be_read(book, without_node):
    book.write("references.bib", "@article{doe2020,\n  title = {On\n")
    assert [problem for problem in book.problems() if problem.startswith("references.bib: can't be read")]


def test_nothing_is_written_when_something_is_wrong(book, without_node):
    book.notebook("See @fig-a.")
    book.problems()
    assert not list(book.out.rglob("*.html"))


def test_the_small_book_itself_is_sound(book):
    book.notebook("Words by @doe2020.", front=FRONT_MATTER)
    assert len(book.build().written) == 2
