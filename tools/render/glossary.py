"""The glossary: reads its entries from the page that holds them, and marks their words in the running text.

The entries are a definition list in `::: {.glossary}`, and so a page of the book like any other:

    [Acceptance rate]{#term-acceptance-rate data-forms="acceptance rates" data-except="…"}
    :   What it means, in one or two plain sentences. [@sec-alpha]

`data-forms` lists the other forms of the word, `data-except` what contains it and means something else. An entry ends
with a reference to the section that introduces the word; what stands before is the word's meaning.

A word is marked where it first occurs in a section (level 2), but not in the one that introduces it; a word of every
day (`data-marked="once"`) only where it first occurs in the page. Running text is what stands in paragraphs and lists:
headings, figures, tables, callouts, theorems and footnotes stay as they are, and so do emphasised words, quotations,
links, formulas and code. A mark is a link to the entry, described by the meaning, which stands at the end of the page
and is shown by `assets/terms.js`. Quarto renders the same entries under the same anchors, without marks.
"""

import html
import posixpath
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from .errors import Problems
from .nodes import attr, is_inlines, link, plain_text, raw, tag, text
from .structure import Structure

CLASS = "glossary"
PREFIX = "term-"

_SECTION_LEVEL = 2
_RUNS = ("Str", "Space", "SoftBreak")
_LETTERS = {"Space": " ", "SoftBreak": "\n"}
_IN_MEANING = {"Str", "Space", "SoftBreak", "Emph", "Strong", "Quoted"}
_OPTIONS = {"data-forms", "data-except", "data-marked"}
_KNOWN = 'data-forms="…", data-except="…" and data-marked="once"'


@dataclass(frozen=True)
class Term:
    """An entry: a word, what else is read as it, its meaning in plain words, and the section that introduces it."""

    id: str
    word: str
    forms: tuple[str, ...]
    exceptions: tuple[str, ...]
    meaning: str
    section: str
    is_marked_once: bool

    @property
    def name(self) -> str:
        return self.id.removeprefix(PREFIX)


def mark_terms(pages: list[Structure], problems: Problems) -> None:
    """Mark the glossary's words in all pages but its own; a book without a glossary stays as it is."""
    found = [(page, node) for page in pages for node in page.nodes if _is_glossary(node)]
    if not found:
        return
    for page, _ in found[1:]:
        problems.add(page.source.place(), f"a second glossary: the first is in {found[0][0].source.page.source}")
    home, node = found[0]
    glossary = Glossary(home, _read_entries(home, node))
    others = [page for page in pages if page is not home]
    for page in others:
        glossary.mark(page)
    glossary.check_used(others)


def _is_glossary(node: dict) -> bool:
    return node["t"] == "Div" and CLASS in node["c"][0][1]


def _read_entries(page: Structure, node: dict) -> list[Term]:
    """The entries that are in order; what is wrong with the others is reported."""
    terms: list[Term] = []
    for block in node["c"][1]:
        if block["t"] == "DefinitionList":
            terms += filter(None, (_read_entry(page, *entry) for entry in block["c"]))
        else:
            page.problem("the glossary holds something that is no entry: write [Word]{#term-word} and : its meaning")
    _check_distinct(page, terms)
    return terms


def _check_distinct(page: Structure, terms: list[Term]) -> None:
    seen: set[str] = set()
    owners: dict[str, str] = {}
    for term in terms:
        if term.id in seen:
            page.problem(f"the glossary explains {term.word} ({term.id}) twice", f"#{term.id}")
        seen.add(term.id)
        for form in map(_key, term.forms):
            owner = owners.setdefault(form, term.word)
            if owner != term.word:
                page.problem(f"in the glossary, {form!r} is a form of {owner} and of {term.word}", f"#{term.id}")


def _read_entry(page: Structure, head: list, bodies: list) -> Term | None:
    word = plain_text(head)
    span = head[0] if len(head) == 1 and head[0]["t"] == "Span" else None
    if span is None or not span["c"][0][0].startswith(PREFIX):
        page.problem(f"the glossary's entry {word} has no anchor: write [{word}]{{#{PREFIX}…}}", word)
        return None
    identifier, _, pairs = span["c"][0]
    body = bodies[0][0]["c"] if len(bodies) == 1 and len(bodies[0]) == 1 else []
    section = _section(body[-1]) if body else None
    if section is None:
        page.problem(f"the glossary's entry {word} must be one paragraph that ends with [@sec-…]", f"#{identifier}")
        return None
    problem = _what_is_wrong_with(body[:-1], dict(pairs))
    if problem:
        page.problem(f"the glossary's entry {word} {problem}", f"#{identifier}")
        return None
    return _term(identifier, word, plain_text(body[:-1]), section, dict(pairs))


def _what_is_wrong_with(meaning: list, options: dict[str, str]) -> str | None:
    foreign = sorted({node["t"] for node in _inside(meaning)} - _IN_MEANING)
    if foreign:
        return f"holds {', '.join(foreign)}: a meaning must be plain words"
    if not plain_text(meaning).strip():
        return "has no meaning"
    if options.keys() - _OPTIONS or options.get("data-marked", "once") != "once":
        return f"has an option that is none of {_KNOWN}"
    return None


def _term(identifier: str, word: str, meaning: str, section: str, options: dict[str, str]) -> Term:
    return Term(
        identifier,
        word,
        forms=(word, *_listed(options.get("data-forms", ""))),
        exceptions=_listed(options.get("data-except", "")),
        meaning=" ".join(meaning.split()),
        section=section,
        is_marked_once="data-marked" in options,
    )


def _section(node: dict) -> str | None:
    """The section that `[@sec-…]` refers to."""
    key = node["c"][0][0]["citationId"] if node["t"] == "Cite" else ""
    return key if key.startswith("sec-") else None


def _inside(inlines: list) -> Iterator[dict]:
    for node in inlines:
        yield node
        if node["t"] in ("Emph", "Strong"):
            yield from _inside(node["c"])
        elif node["t"] == "Quoted":
            yield from _inside(node["c"][1])


def _listed(words: str) -> tuple[str, ...]:
    return tuple(" ".join(word.split()) for word in words.split(",") if word.strip())


def _key(words: str) -> str:
    """What two spellings of the same words have in common."""
    return re.sub(r"\s", " ", words).replace("'", "’").casefold()


class Glossary:
    """The entries of the page `home`, ready to be found in the text of the others."""

    def __init__(self, home: Structure, terms: list[Term]):
        self.home = home
        self.terms = terms
        self.by_form = {_key(form): term for term in terms for form in term.forms}
        exceptions = {_key(words) for term in terms for words in term.exceptions}
        # The longest first, so that a word is not found within another term.
        longest_first = sorted({*self.by_form, *exceptions}, key=len, reverse=True)
        choices = "|".join(re.escape(words).replace(r"\ ", r"\s") for words in longest_first)
        self.pattern = re.compile(rf"(?<![\w’‘“-])(?:{choices})(?![\w-])", re.IGNORECASE)

    def find(self, words: str) -> Iterator[tuple[re.Match, Term]]:
        """Each place in `words` that holds a term."""
        for match in self.pattern.finditer(words) if self.terms else ():
            term = self.by_form.get(_key(match[0]))
            if term:
                yield match, term

    def mark(self, page: Structure) -> None:
        """Mark the running text of a page, and put the meanings of what is marked at its end."""
        shown: dict[str, Term] = {}
        nodes = [node for section in _sections(page.nodes) for node in self._mark_section(section, page, shown)]
        page.nodes = [*nodes, *_meanings(shown.values())]

    def _mark_section(self, section: list, page: Structure, shown: dict[str, Term]) -> list:
        identifiers = {node["c"][1][0] for node in section if node["t"] == "Header"}
        done = {term.id for term in self.terms if term.section in identifiers}
        done |= {term.id for term in shown.values() if term.is_marked_once}
        address = posixpath.relpath(self.home.source.page.source, page.source.page.source.parent)
        return [_Marker(self, address, done, shown).block(node) for node in section]

    def check_used(self, pages: list[Structure]) -> None:
        """Report terms that no other page speaks of."""
        used = {term.id for page in pages for words in _texts(page.nodes) for _, term in self.find(words)}
        for term in self.terms:
            if term.id not in used:
                self.home.problem(f"no page uses the glossary's term {term.word}", f"#{term.id}")


def _sections(nodes: list) -> list[list]:
    """The nodes before the first section, then those of each section."""
    sections: list[list] = [[]]
    for node in nodes:
        if node["t"] == "Header" and node["c"][0] <= _SECTION_LEVEL:
            sections.append([])
        sections[-1].append(node)
    return sections


@dataclass
class _Marker:
    """Marks one section: `done` are the terms that it marks no more, `shown` those that the page has marked."""

    glossary: Glossary
    address: str
    done: set[str]
    shown: dict[str, Term]

    def block(self, node: dict) -> dict:
        """Mark a block of running text; others come back as they are."""
        if node["t"] == "Para":
            return {"t": "Para", "c": self.inlines(node["c"])}
        if node["t"] == "BlockQuote":
            return {"t": "BlockQuote", "c": [self.block(child) for child in node["c"]]}
        if node["t"] == "BulletList":
            return {"t": "BulletList", "c": self._items(node["c"])}
        if node["t"] == "OrderedList":
            return {"t": "OrderedList", "c": [node["c"][0], self._items(node["c"][1])]}
        return node

    def _items(self, items: list) -> list:
        return [[self._item_block(node) for node in item] for item in items]

    def _item_block(self, node: dict) -> dict:
        """Only in a list is a `Plain` running text; else it is a title or a caption."""
        return {"t": "Plain", "c": self.inlines(node["c"])} if node["t"] == "Plain" else self.block(node)

    def inlines(self, found: list) -> list:
        result = []
        for is_run, group in groupby(found, key=lambda node: node["t"] in _RUNS):
            nodes = list(group)
            result += self._run("".join(map(_letters, nodes))) if is_run else nodes
        return result

    def _run(self, words: str) -> list:
        result, position = [], 0
        for match, term in self.glossary.find(words):
            if term.id in self.done:
                continue
            self.done.add(term.id)
            self.shown[term.id] = term
            result += [*_as_nodes(words[position : match.start()]), self._link(match[0], term)]
            position = match.end()
        return result + _as_nodes(words[position:])

    def _link(self, words: str, term: Term) -> dict:
        node = link(_as_nodes(words), f"{self.address}#{term.id}")
        node["c"][0] = attr("", ["term"], aria_describedby=_meaning_id(term))
        return node


def _letters(node: dict) -> str:
    return _LETTERS.get(node["t"]) or node["c"]


def _as_nodes(words: str) -> list:
    kinds = {letter: kind for kind, letter in _LETTERS.items()}
    pieces = filter(None, re.split(r"([ \n])", words))
    return [{"t": kinds[piece]} if piece in kinds else text(piece) for piece in pieces]


def _meaning_id(term: Term) -> str:
    return f"meaning-{term.name}"


def _meanings(terms: Iterable[Term]) -> list:
    """What the marks of a page are described by: popovers, so that nothing is seen of them without the script."""
    notes = [
        tag("span", id=_meaning_id(term), class_="meaning", role="tooltip", popover="manual")
        + f"{html.escape(term.meaning, quote=False)}</span>"
        for term in terms
    ]
    return [raw(f'<div class="meanings">{"".join(notes)}</div>')] if notes else []


def _texts(value: object) -> Iterator[str]:
    """The words of every list of inlines in a tree."""
    if is_inlines(value):
        yield plain_text(value)
    elif isinstance(value, list | dict):
        for child in value.values() if isinstance(value, dict) else value:
            yield from _texts(child)
