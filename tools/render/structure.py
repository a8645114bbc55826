"""The first pass over a page: gives numbers to what can be referred to, and turns Quarto's constructs into HTML nodes.

References, links and formulas stay as they are for the second pass (`resolve`), which knows the whole book's labels.
"""

import re
from dataclasses import dataclass, field

from . import blocks, cells, pandoc
from .crossref import Label, Numbering, prefix_of
from .errors import Place, Problems
from .nodes import attr, div, plain, plain_text, rewrite, span, text
from .source import CELL_FORMAT, EXECUTABLE, Source

_SHORTCODE = re.compile(r"\{\{<|>\}\}")
_LOOSE_LABEL = re.compile(r"\{#[a-z]+-[^}]*\}?")
_LOOSE_FENCE = re.compile("`{3}|~{3}|:{3}")
_LOOSE_FOOTNOTE = re.compile(r"\[\^[^\]]+\]")
_INLINE_CODE_CELL = re.compile(r"\{(python|r|julia|ojs)\} ")
_TYPESET = re.compile("[‘’“”–—…]")


@dataclass
class OjsCell:
    """A block of OJS, or one inline expression, for `node/compile.mjs`."""

    id: str
    source: str
    inline: bool
    where: str


@dataclass
class Structure:
    """A page after the first pass, and the state of that pass."""

    source: Source
    numbering: Numbering
    problems: Problems
    nodes: list = field(default_factory=list)
    front: dict[str, list] = field(default_factory=dict)
    labels: list[Label] = field(default_factory=list)
    ojs: list[OjsCell] = field(default_factory=list)
    defined: list[str] = field(default_factory=list)
    media: dict[str, bytes] = field(default_factory=dict)
    cell: int | None = None
    tabsets: int = 0

    def place(self, near: str = "") -> Place:
        """Where the pass stands now."""
        return self.source.place(self.cell, near)

    def problem(self, message: str, near: str = "") -> None:
        """Report a problem at the current place; `near` helps to find the line in a `.qmd`."""
        self.problems.add(self.place(near), message)

    def add_label(self, identifier: str, word: str, number: str) -> Label:
        """Enter a label into the page's list."""
        label = Label(
            identifier, word, number, self.source.page.id, str(self.source.page.output), str(self.place(identifier))
        )
        self.labels.append(label)
        return label

    def add_ojs(self, source: str, inline: bool = False) -> str:
        """Enter OJS code into the page's list; return the id of the element that shows its value."""
        identifier = f"ojs-cell-{len(self.ojs) + 1}"
        near = source if inline else source.split("\n")[0]
        self.ojs.append(OjsCell(identifier, source, inline, str(self.place(near))))
        return identifier

    def parse(self, markdown: str) -> list:
        """Blocks of Markdown that stands outside the page's text, such as an output."""
        found, warnings = pandoc.read(markdown)
        for warning in warnings:
            self.problem(_in_words(warning))
        return self.blocks(found)

    def parse_inlines(self, markdown: str) -> list:
        """Inlines of a caption or a title."""
        return self.inlines(pandoc.read_inlines(str(markdown))) if markdown else []

    def blocks(self, found: list) -> list:
        """Transform a list of blocks."""
        return [result for node in found for result in self._block(node)]

    def _block(self, node: dict) -> list:
        handler = _HANDLERS.get(node["t"])
        return handler(self, node) if handler else [self.inside(node)]

    def inside(self, node: object) -> object:
        """Transform what a node holds, not the node."""
        if isinstance(node, dict):
            return {key: rewrite(value, self.inlines, self.blocks) for key, value in node.items()}
        return rewrite(node, self.inlines, self.blocks)

    def inlines(self, found: list) -> list:
        """Transform a list of inlines."""
        return [self._inline(node) for node in self._interpolate(found)]

    def _inline(self, node: dict) -> dict:
        kind, content = node["t"], node.get("c")
        if kind == "Str":
            self._check_string(content)
        elif kind == "RawInline" and not content[1].startswith("<!--"):
            self.problem(f"raw {content[0]} {content[1]} in the text: only outputs may hold it", content[1])
        elif kind == "Code" and _INLINE_CODE_CELL.match(content[1]):
            self.problem(f"inline code `{content[1]}` would have to be executed", content[1])
        elif kind == "Math" and content[0]["t"] == "InlineMath" and content[1].startswith("{"):
            self.problem(
                f"${content[1]}$ reads as a formula, though ${{ opens an inline OJS expression: "
                "put a space before the second $, or begin the formula with something else",
                content[1],
            )
        elif kind == "Image":
            blocks.check_image(self, node)
        elif kind == "Span":
            self._check_span(content[0])
        return self.inside(node)

    def _check_string(self, string: str) -> None:
        if _SHORTCODE.search(string):
            self.problem("shortcodes {{< … >}} are Quarto's own: the embedded renderer has none", string)
        elif label := _LOOSE_LABEL.search(string):
            self.problem(f"the label {label[0]} is attached to nothing", string)
        elif _LOOSE_FENCE.match(string):
            self.problem(f"the fence {string} opens or closes nothing", string)
        elif footnote := _LOOSE_FOOTNOTE.search(string):
            self.problem(f"the footnote {footnote[0]} is not defined", string)

    def _check_span(self, attributes: list) -> None:
        identifier, classes, pairs = attributes
        for name in [*(c for c in classes if c in ("aside", "content-visible", "content-hidden")), *dict(pairs)]:
            if not name.startswith("data-"):
                self.problem(f"unknown option {name} of a span", name)
        if prefix_of(identifier):
            self.problem(f"a span can't carry the label {identifier}", identifier)

    def _interpolate(self, found: list) -> list:
        """Replace inline expressions `${…}`, which pandoc splits at spaces and quotes, by places for their values."""
        result, rest = [], list(found)
        while rest:
            node = rest.pop(0)
            if node["t"] != "Str" or "${" not in node["c"]:
                result.append(node)
                continue
            before, _, head = node["c"].partition("${")
            expression = self._take_expression(head, rest)
            result += [text(before)] if before else []
            if expression is not None:
                result.append(span(attr(self.add_ojs(expression, inline=True), data_ojs=""), []))
        return result

    def _take_expression(self, head: str, rest: list) -> str | None:
        """Take nodes off `rest` up to the closing brace, and put what follows it back."""
        parts = [head]
        is_string = True
        while not (is_string and "}" in parts[-1]):
            if not rest:
                self.problem(f"${{{''.join(parts)} is not closed by }} in its paragraph", "${" + head)
                return None
            node = rest.pop(0)
            is_string = node["t"] == "Str"
            piece = _as_source(node)
            if piece is None:
                self.problem(
                    f"${{{''.join(parts)}…}} is not plain enough for Markdown: "
                    "compute the value in an OJS cell and write its name here",
                    "${" + head,
                )
                return None
            parts.append(piece)
        last, _, after = parts[-1].partition("}")
        expression = "".join([*parts[:-1], last])
        if after:
            rest.insert(0, text(after))
        if "{" in expression or _TYPESET.search(expression):
            self.problem(
                f"${{{expression}}}: braces, apostrophes and dashes don't survive in inline expressions: "
                "compute the value in an OJS cell and write its name here",
                "${" + head,
            )
            return None
        return expression


def _as_source(node: dict) -> str | None:
    """The JavaScript that pandoc has read as an inline; None where it can't be known."""
    kind, content = node["t"], node.get("c")
    if kind == "Str":
        return content
    if kind in ("Space", "SoftBreak"):
        return " "
    if kind == "Code":
        return f"`{content[1]}`"
    if kind == "Quoted":
        pieces = [_as_source(child) for child in content[1]]
        quote = "'" if content[0]["t"] == "SingleQuote" else '"'
        return None if None in pieces else f"{quote}{''.join(pieces)}{quote}"
    return None


def structure(source: Source, chapter: int | None, problems: Problems) -> Structure:
    """Run the first pass over a page; `chapter` is its number in the book."""
    page = Structure(source, Numbering(chapter), problems)
    _label_chapter(page, chapter)
    page.front["title"] = page.inlines(source.title)
    for key in ("subtitle", "description"):
        page.front[key] = page.parse_inlines(source.front.get(key, ""))
    found, warnings = pandoc.read(source.markdown)
    if _cells_are_closed(page, found):
        _report(page, warnings)
    page.nodes = page.blocks(found)
    return page


def _label_chapter(page: Structure, chapter: int | None) -> None:
    identifier = page.source.title_attr[0]
    if prefix_of(identifier) == "sec" and chapter is not None:
        page.add_label(identifier, "Chapter", str(chapter))


def _cells_are_closed(page: Structure, found: list) -> bool:
    """Whether each cell closes the fences that it opens: then every marker stands at the top level."""
    seen = [int(node["c"][1]) for node in found if _is_marker(node)]
    expected = [number for _, number in page.source.cell_lines]
    if seen == expected:
        return True
    missing = next(number for number in expected if number not in seen)
    before = max((number for number in expected if number < missing), default=missing)
    page.problems.add(page.source.place(before), "a fenced block, div or comment is opened here and not closed")
    return False


def _is_marker(node: dict) -> bool:
    return node["t"] == "RawBlock" and node["c"][0] == CELL_FORMAT


def _report(page: Structure, warnings: list[str]) -> None:
    for warning in warnings:
        line = re.search(r"line (\d+)", warning)
        place = page.source.place_of_line(int(line[1])) if line else page.source.place()
        page.problems.add(place, _in_words(warning))


def _in_words(warning: str) -> str:
    footnote = re.match(r"Note with key '(.+?)'.* not used", warning)
    if footnote:
        return f"the footnote [^{footnote[1]}] is never used"
    return "a div is opened here and not closed" if re.match(r"Div .*unclosed", warning) else warning


def _raw_block(page: Structure, node: dict) -> list:
    if not _is_marker(node):
        kind, markup = node["c"]
        if not (kind == "html" and re.fullmatch(r"\s*<!--.*-->\s*", markup, re.DOTALL)):
            page.problem(f"raw {kind} in the text: only outputs may hold it", markup.split("\n")[0])
        return []
    page.cell = int(node["c"][1])
    if page.cell in page.source.code_cells:
        return [node, *cells.code_cell(page, page.source.code_cells[page.cell])]
    return [node]


def _header(page: Structure, node: dict) -> list:
    level, (identifier, classes, pairs), title = node["c"]
    if level == 1:
        page.problem("a page has one level-1 heading, its title: use ## for sections", plain_text(title))
    content = page.inlines(title)
    if "unnumbered" not in classes and page.numbering.chapter is not None and level > 1:
        number = page.numbering.section(level)
        content = [span(attr("", ["header-section-number"]), [text(number)]), {"t": "Space"}, *content]
        if prefix_of(identifier) == "sec":
            page.add_label(identifier, "Section", number)
    return [{"t": "Header", "c": [level, [identifier, classes, pairs], content]}]


def _paragraph(page: Structure, node: dict) -> list:
    """A paragraph; displayed formulas in it become blocks, with their number when they have a label."""
    figure = blocks.lone_figure(page, node)
    if figure:
        return figure
    result, inlines, rest = [], [], list(node["c"])

    def flush() -> None:
        while inlines and inlines[-1]["t"] in ("Space", "SoftBreak"):
            inlines.pop()
        while inlines and inlines[0]["t"] in ("Space", "SoftBreak"):
            inlines.pop(0)
        if inlines:
            result.append({"t": node["t"], "c": page.inlines(inlines)})
            inlines.clear()

    while rest:
        item = rest.pop(0)
        if item["t"] == "Math" and item["c"][0]["t"] == "DisplayMath":
            flush()
            result.append(_equation(page, item, _take_equation_label(rest)))
        else:
            inlines.append(item)
    flush()
    return result


def _take_equation_label(rest: list) -> str | None:
    for index, node in enumerate(rest[:2]):
        label = re.fullmatch(r"\{#(eq-[^ }]+)\}", node["c"]) if node["t"] == "Str" else None
        if label:
            del rest[: index + 1]
            return label[1]
        if node["t"] not in ("Space", "SoftBreak"):
            return None
    return None


def _equation(page: Structure, formula: dict, identifier: str | None) -> dict:
    body = div(attr("", ["equation-body"], tabindex="0"), [plain([formula])])
    if identifier is None:
        return div(attr("", ["equation"]), [body])
    label = page.add_label(identifier, "Equation", page.numbering.next("eq"))
    number = span(attr("", ["equation-number"]), [text(f"({label.number})")])
    return div(attr(identifier, ["equation"]), [body, plain([number])])


def _code_block(page: Structure, node: dict) -> list:
    (identifier, classes, pairs), code = node["c"]
    kind = classes[0] if classes else ""
    if kind == f"{EXECUTABLE}ojs":
        return cells.ojs_block(page, code)
    if kind.startswith(EXECUTABLE):
        language = kind.removeprefix(EXECUTABLE)
        page.problem(f"a {{{language}}} block would have to be executed: use a notebook's code cell", kind)
        return []
    for option in [*classes[1:], *dict(pairs)]:
        page.problem(f"unknown option {option} of a code block", option)
    if identifier:
        page.problem(f"a code block can't carry the label {identifier}", identifier)
    return [cells.code_block(re.sub(rf"{EXECUTABLE}([\w-]+)", r"{\1}", code), kind)]


_HANDLERS = {
    "RawBlock": _raw_block,
    "Header": _header,
    "Para": _paragraph,
    "Plain": _paragraph,
    "CodeBlock": _code_block,
    "Div": blocks.div_block,
    "Figure": blocks.figure_block,
    "Table": blocks.table_block,
}
