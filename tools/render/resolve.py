"""The second pass over a page: references, citations, links, images and formulas, now that the whole book is known."""

import posixpath
import re
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

from .crossref import UNSUPPORTED, Label, prefix_of
from .errors import Problems
from .images import image_size
from .nodes import link, raw_inline, rewrite, space, text
from .project import PageFile
from .source import CELL_FORMAT
from .structure import Structure

_ADDRESS = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:|//")


@dataclass
class Book:
    """What a page may refer to."""

    root: Path
    labels: dict[str, Label]
    citation_keys: set[str]
    pages: dict[str, PageFile]


@dataclass
class Formula:
    """TeX for `node/compile.mjs`."""

    tex: str
    display: bool
    where: str


@dataclass
class Anchor:
    """A link to a place in a page of the book, to be checked once all pages are written."""

    output: str
    anchor: str
    where: str


@dataclass
class Resolved:
    """A page after the second pass."""

    page: Structure
    book: Book
    problems: Problems
    nodes: list = field(default_factory=list)
    front: dict[str, list] = field(default_factory=dict)
    citations: list[str] = field(default_factory=list)
    formulas: list[Formula] = field(default_factory=list)
    anchors: list[Anchor] = field(default_factory=list)
    files: list[str] = field(default_factory=list)

    @property
    def file(self) -> PageFile:
        return self.page.source.page

    def problem(self, message: str, near: str = "") -> None:
        self.problems.add(self.page.place(near), message)

    def blocks(self, found: list) -> list:
        """Transform blocks; the markers of cells, which say where each stands, go."""
        result = []
        for node in found:
            if node["t"] == "RawBlock" and node["c"][0] == CELL_FORMAT:
                self.page.cell = int(node["c"][1])
            else:
                result.append({key: rewrite(value, self.inlines, self.blocks) for key, value in node.items()})
        return result

    def inlines(self, found: list) -> list:
        return [result for node in found for result in self._inline(node)]

    def _inline(self, node: dict) -> list:
        kind, content = node["t"], node.get("c")
        if kind == "Math":
            return [self._formula(content)]
        if kind == "Cite":
            return self._cite(node)
        if kind == "Link":
            content[2][0] = self._link(content[2][0])
        elif kind == "Image":
            self._image(content)
        return [{key: rewrite(value, self.inlines, self.blocks) for key, value in node.items()}]

    def _formula(self, content: list) -> dict:
        self.formulas.append(Formula(content[1], content[0]["t"] == "DisplayMath", str(self.page.place(content[1]))))
        return raw_inline(formula_mark(len(self.formulas) - 1))

    def _cite(self, node: dict) -> list:
        citations = node["c"][0]
        labels = [self._is_label(citation["citationId"]) for citation in citations]
        if any(labels):
            if not all(labels):
                self.problem("a bracket holds either labels or works, not both")
            return self._references(citations)
        for citation in citations:
            key = citation["citationId"]
            self.citations.append(key)
            if key not in self.book.citation_keys:
                self.problem(f"@{key} is neither a label nor in the bibliography", f"@{key}")
        return [{"t": "Cite", "c": rewrite(node["c"], self.inlines, self.blocks)}]

    def _is_label(self, key: str) -> bool:
        key = key[0].lower() + key[1:]
        if key in self.book.citation_keys:
            return False
        return prefix_of(key) is not None or key.split("-")[0] in UNSUPPORTED

    def _references(self, citations: list) -> list:
        """`[@fig-a; @fig-b]` as Quarto writes it: Figure 1.1, Figure 1.2."""
        result = []
        for citation in citations:
            key = citation["citationId"]
            label = self.book.labels.get(key[0].lower() + key[1:])
            if label is None:
                self.problem(f"@{key} refers to nothing that has a number", f"@{key}")
                continue
            result += [text(","), space()] if result else []
            result.append(link(self._reference_words(citation, label), label.href(self.file.output), "xref"))
        return result

    def _reference_words(self, citation: dict, label: Label) -> list:
        if citation["citationPrefix"]:
            return [*self.inlines(citation["citationPrefix"]), text(f"\u00a0{label.number}")]
        if citation["citationMode"]["t"] == "SuppressAuthor":
            return [text(label.number)]
        return [text(label.text)]

    def _link(self, target: str) -> str:
        """Where a link leads in the site: sources of pages become pages, other files of the project are copied."""
        if _ADDRESS.match(target):
            return target
        path, hash_mark, anchor = target.partition("#")
        if not path:
            self._expect(str(self.file.output), anchor, target)
            return target
        source = posixpath.normpath(posixpath.join(self.file.source.parent, unquote(path)))
        page = self.book.pages.get(source)
        if page:
            self._expect(str(page.output), anchor, target)
            return posixpath.relpath(page.output, self.file.output.parent) + hash_mark + anchor
        self._copy(source, f"the link {target} leads to no page and no file of the project", target)
        return target

    def _expect(self, output: str, anchor: str, target: str) -> None:
        if anchor:
            self.anchors.append(Anchor(output, unquote(anchor), str(self.page.place(target))))

    def _image(self, content: list) -> None:
        (_, _, options), _, (url, _) = content
        if url.startswith("data:"):
            return
        if _ADDRESS.match(url):
            self.problem(f"the image {url} is on another host: the site asks no other host for anything", url)
            return
        source = posixpath.normpath(posixpath.join(self.file.source.parent, unquote(url)))
        self._copy(source, f"the image {url} does not exist", url)
        size = image_size((self.book.root / source).read_bytes()) if source in self.files else None
        if size:
            options += _room(*size, is_scaled=any(name in ("width", "height") for name, _ in options))

    def _copy(self, source: str, otherwise: str, near: str) -> None:
        is_inside = not source.startswith("..") and not PurePosixPath(source).is_absolute()
        if is_inside and (self.book.root / source).is_file():
            self.files.append(source)
        else:
            self.problem(otherwise, near)


def _room(width: int, height: int, is_scaled: bool) -> list[list[str]]:
    """Attributes by which an image keeps its place before it is loaded."""
    if is_scaled:
        return [["style", f"aspect-ratio: {width} / {height}"]]
    return [["width", str(width)], ["height", str(height)]]


def formula_mark(index: int) -> str:
    """What stands in the page's HTML until the formula is typeset."""
    return f"<!--formula {index}-->"


def resolve(page: Structure, book: Book, problems: Problems) -> Resolved:
    """Run the second pass over a page."""
    resolved = Resolved(page, book, problems)
    page.cell = 1 if page.source.is_notebook else None
    resolved.front = {key: resolved.inlines(words) for key, words in page.front.items()}
    resolved.nodes = resolved.blocks(page.nodes)
    return resolved
