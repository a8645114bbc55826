"""The glossary's words are marked where they help, and a broken glossary fails the build."""

import re

import pytest

from conftest import CONFIG, code_cell, display

CHAPTER = "chapters/01-first.ipynb"
GUESS = '[Guess]{#term-guess data-forms="guesses"}\n:   What is *verified*. [@sec-guess]\n'
KV_CACHE = '[KV cache]{#term-kv-cache data-forms="cache"}\n:   What a pass "remembers". [@sec-guess]\n'
INTRODUCTION = "## Guesses {#sec-guess}\n\nA guess needs a cache."


def write(book, *entries, before="Words."):
    """Put a glossary of these entries into the preface; the preface's first line is line 1."""
    glossary = "\n".join(["::: {.glossary}", *entries, ":::"])
    book.write("index.qmd", f"# Preface {{.unnumbered}}\n\n{before}\n\n{glossary}\n\n::: {{#refs}}\n:::\n")


def marks(html: str) -> list[str]:
    return re.findall(r'<a href="[^"]*" class="term" aria-describedby="[^"]*">([^<]*)</a>', html)


@pytest.fixture
def marked(book):
    """Build a chapter of these cells after the one that introduces the words; return its marks, and its HTML."""

    def build(*cells, entries=(GUESS, KV_CACHE)):
        write(book, *entries)
        book.notebook(INTRODUCTION, *cells)
        book.build()
        return marks(book.page()), book.page()

    return build


def test_a_mark_is_a_link_that_is_described_by_the_meaning(marked):
    _, html = marked("## Later\n\nOf two guesses, one.")
    link = '<a href="../index.html#term-guess" class="term" aria-describedby="meaning-guess">guesses</a>, one.'
    assert f"Of two {link}" in html
    note = '<span id="meaning-guess" class="meaning" role="tooltip" popover="manual">What is verified.</span>'
    assert f'<div class="meanings">{note}</div>' in html


def test_the_first_place_in_each_section_but_the_one_that_introduces_the_word(marked):
    found, _ = marked("## Second\n\nA guess. Guesses, again.\n\n### Below\n\nA guess.\n\n## Third\n\nGuess!")
    assert found == ["guess", "Guess"]


def test_what_stands_before_the_first_section_is_one_too(book):
    write(book, GUESS)
    book.notebook("Guess.\n\n## Guesses {#sec-guess}\n\nA guess.")
    book.build()
    assert marks(book.page()) == ["Guess"]


def test_a_word_of_every_day_is_marked_once_in_a_page(marked):
    once = GUESS.replace("data-forms", 'data-marked="once" data-forms')
    found, _ = marked("## Second\n\nA guess.\n\n## Third\n\nA guess.", entries=[once])
    assert found == ["guess"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A\nKV cache.", ["KV cache"]),
        ("A KV\ncache.", ["KV cache"]),
        ("(guess)", ["guess"]),
        ("The guess's end.", ["guess"]),
        ("Guess", ["Guess"]),
        ("- a guess\n- the cache", ["guess", "cache"]),
        ("1. a guess", ["guess"]),
        ("> a guess", ["guess"]),
        ("Guessing, guessed, second-guess, guess-work.", []),
        ('A **guess**, a *guess*, "guess", “guess”, `guess` and $guess$.', []),
        ("[a guess](https://example.org)", []),
        ("### Guess", []),
        ("| guess |\n|---|\n| guess |", []),
        ("::: {.callout-tip}\n## Guess\nA guess.\n:::", []),
        ("::: {#thm-a}\n## Guess\nA guess.\n:::", []),
        ("::: {.proof}\nA guess.\n:::", []),
        ("::: {.column-margin}\nA guess.\n:::", []),
        ("A note[^1].\n\n[^1]: A guess.", []),
        ("```python\nguess\n```", []),
    ],
)
def test_only_running_text_is_marked(marked, text, expected):
    assert marked(f"## Later\n\n{text}")[0] == expected


def test_captions_and_outputs_are_not_marked(marked):
    cell = code_cell('#| tbl-cap: "A guess"\n#| label: tbl-a\n1', display({"text/markdown": "A guess"}))
    assert marked("## Later", cell)[0] == []


def test_an_exception_is_not_marked(marked):
    entry = GUESS.replace("data-forms", 'data-except="guess what" data-forms')
    assert marked("## Later\n\nGuess what: a guess.", entries=[entry])[0] == ["guess"]


def test_the_longer_of_two_terms_is_found(marked):
    entry = "[Guess tree]{#term-guess-tree}\n:   Guesses. [@sec-guess]\n"
    assert marked("## Later\n\nA guess tree and a guess.", entries=[GUESS, entry])[0] == ["guess tree", "guess"]


def test_the_page_of_the_glossary_is_not_marked(book):
    write(book, GUESS, before="A guess.")
    book.notebook(INTRODUCTION)
    book.build()
    html = book.page("index.html")
    assert marks(html) == [] and "meanings" not in html
    assert re.search(r'<dt>\s*<span id="term-guess" data-forms="guesses">Guess</span>\s*</dt>', html)
    assert re.search(r"What is <em>verified</em>\. <a [^>]*>Section\u00a01\.1</a>", html)


def test_a_book_without_a_glossary(book):
    book.notebook("A guess.")
    book.build()
    assert "meaning" not in book.page() and marks(book.page()) == []


BROKEN = {
    "no anchor": (["Guess\n:   A word. [@sec-guess]\n"], 6, "the glossary's entry Guess has no anchor"),
    "no section": (["[Guess]{#term-guess}\n:   A word.\n"], 6, "the glossary's entry Guess must be one paragraph that"),
    "two paragraphs": (
        ["[Guess]{#term-guess}\n\n:   A word.\n\n    [@sec-guess]\n"],
        6,
        "the glossary's entry Guess must be one paragraph that ends with [@sec-…]",
    ),
    "a formula": (
        ["[Guess]{#term-guess}\n:   It is $x$. [@sec-guess]\n"],
        6,
        "the glossary's entry Guess holds Math: a meaning must be plain words",
    ),
    "no meaning": (["[Guess]{#term-guess}\n:   [@sec-guess]\n"], 6, "the glossary's entry Guess has no meaning"),
    "explained twice": ([GUESS, GUESS], 6, "the glossary explains Guess (term-guess) twice"),
    "a form of two": (
        [GUESS, '[Draft]{#term-draft data-forms="Guesses"}\n:   A word. [@sec-guess]\n'],
        9,
        "in the glossary, 'guesses' is a form of Guess and of Draft",
    ),
    "an option": (
        ['[Guess]{#term-guess data-form="x"}\n:   A word. [@sec-guess]\n'],
        6,
        "the glossary's entry Guess has an option that is none of",
    ),
    "never used": (
        [GUESS, "[Draft]{#term-draft}\n:   A word. [@sec-guess]\n"],
        9,
        "no page uses the glossary's term Draft",
    ),
    "no entry": (["A guess.\n"], None, "the glossary holds something that is no entry"),
}


@pytest.mark.parametrize(("entries", "line", "message"), BROKEN.values(), ids=BROKEN)
def test_a_broken_glossary_names_its_line(book, without_node, entries, line, message):
    write(book, *entries)
    book.notebook(INTRODUCTION)
    place = f"index.qmd, line {line}: " if line else "index.qmd: "
    assert [problem for problem in book.problems() if problem.startswith(place + message)]


def test_a_section_that_is_not_there(book, without_node):
    write(book, GUESS)
    book.notebook("A guess.")
    assert "index.qmd, line 7: @sec-guess refers to nothing that has a number" in book.problems()


def test_two_glossaries(book, without_node):
    write(book, GUESS)
    book.notebook(INTRODUCTION, f"::: {{.glossary}}\n{KV_CACHE}:::")
    assert [problem for problem in book.problems() if "a second glossary: the first is in index.qmd" in problem]


def test_a_changed_entry_rebuilds_the_pages_that_show_it(book):
    book.write("_quarto.yml", CONFIG.replace("01-first.ipynb", "01-first.ipynb, other.qmd"))
    book.write("other.qmd", "# Other {.unnumbered}\n\nThe cache.\n")
    book.notebook(INTRODUCTION, "## Later\n\nA guess.")
    write(book, GUESS, KV_CACHE)
    book.build()
    changed = GUESS.replace("What is", "That is")
    write(book, changed, KV_CACHE)
    assert book.build().written == ["index.qmd", CHAPTER]
    assert "That is verified." in book.page()
    write(book, changed.replace('="guesses"', '="guesses, the cache"'), KV_CACHE)
    assert book.build().written == ["index.qmd", "other.qmd"]
    assert marks(book.page("other.html")) == ["The cache"]
