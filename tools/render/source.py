"""Reads a page's source, a notebook or a `.qmd` file, into one Markdown text and the cells that it runs through.

A notebook becomes Markdown with a marker before each cell (a raw block of format `cell`), so that one run of pandoc
parses the whole page and every problem can still name its cell.
"""

import json
import re
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from . import pandoc
from .errors import Place, Problems, yaml_problem
from .project import PageFile

CELL_FORMAT = "cell"
EXECUTABLE = "executable-fence-"
FRONT_MATTER_KEYS = {"title", "subtitle", "description", "exactness"}
EXACTNESS = ("exact in law", "greedy-exact", "approximate")

_FRONT_MATTER = re.compile(r"\A---\n(.*?)\n---[ \t]*(?:\n|\Z)", re.DOTALL)
_LEVEL_1_HEADING = re.compile(r"\A\s*# +(.+)$", re.MULTILINE)
# pandoc reads ```{ojs} as inline code, so the braces are replaced while it parses.
_EXECUTABLE_FENCE = re.compile(r"^([ \t>]*(?:`{3,}|~{3,})[ \t]*)\{([A-Za-z][\w-]*)\}[ \t]*$", re.MULTILINE)
_FOREIGN_FENCE = re.compile(r"^[ \t>]*(?:`{3,}|~{3,})[ \t]*\{([A-Za-z][\w-]*)[ ,][^}]*\}[ \t]*$", re.MULTILINE)


@dataclass
class CodeCell:
    """A notebook's code cell: its options, the code without them, and its stored outputs."""

    number: int
    options: dict
    code: str
    outputs: list


@dataclass
class Source:
    """A page before it is parsed."""

    page: PageFile
    title: list = field(default_factory=list)
    title_attr: list = field(default_factory=lambda: ["", [], []])
    front: dict = field(default_factory=dict)
    markdown: str = ""
    first_line: int = 1
    is_notebook: bool = False
    code_cells: dict[int, CodeCell] = field(default_factory=dict)
    cell_lines: list[tuple[int, int]] = field(default_factory=list)

    @property
    def is_numbered(self) -> bool:
        return "unnumbered" not in self.title_attr[1]

    def place(self, cell: int | None = None, near: str = "") -> Place:
        """The place of a cell or, in a `.qmd`, of the first line that holds `near`."""
        if cell is None and near and near in self.markdown:
            line = self.first_line + self.markdown[: self.markdown.index(near)].count("\n")
            return Place(str(self.page.source), line=line)
        return Place(str(self.page.source), cell)

    def place_of_line(self, line: int) -> Place:
        """The place of a line of `markdown`, counted from 1."""
        if not self.is_notebook:
            return Place(str(self.page.source), line=self.first_line + line - 1)
        return Place(str(self.page.source), max((cell for start, cell in self.cell_lines if start <= line), default=1))


def read_source(page: PageFile, root: Path, problems: Problems) -> Source:
    """Read the file of `page`; what is wrong with it goes to `problems`."""
    text = (root / page.source).read_text(encoding="utf-8")
    source = Source(page, is_notebook=page.source.suffix == ".ipynb")
    if source.is_notebook:
        _read_notebook(text, source, problems)
    else:
        _read_qmd(text, source, problems)
    return source


def _read_qmd(text: str, source: Source, problems: Problems) -> None:
    place = source.place()
    matter = _FRONT_MATTER.match(text)
    if matter:
        source.front = _front_matter(matter[1], place, problems)
        source.first_line += matter[0].count("\n")
        text = text[matter.end() :]
    text = _take_title(text, source, place, problems)
    source.markdown = _mark_fences(text, place, problems)


def _read_notebook(text: str, source: Source, problems: Problems) -> None:
    try:
        cells = _notebook_cells(text)
    except (ValueError, KeyError, TypeError) as error:
        problems.add(source.place(), f"is not a notebook of format 4: {error}")
        return
    matter = _FRONT_MATTER.match(cells[0]["source"] + "\n") if cells and cells[0]["cell_type"] == "raw" else None
    if not matter:
        problems.add(source.place(1), "must be a raw cell with YAML between two lines of ---")
        return
    source.front = _front_matter(matter[1], source.place(1), problems)
    _take_title("", source, source.place(1), problems)
    parts, line = [], 1
    for number, cell in enumerate(cells[1:], 2):
        body = _cell_markdown(cell, number, source, problems)
        source.cell_lines.append((line, number))
        parts.append(f"```{{={CELL_FORMAT}}}\n{number}\n```\n\n{body}\n")
        line += parts[-1].count("\n") + 1
    source.markdown = "\n".join(parts)


def _notebook_cells(text: str) -> list[dict]:
    """The cells of a notebook, each multi-line string in one piece.

    nbformat would do this too, but to import it takes two seconds where its validator finds all its optional parts;
    that notebooks are valid is `make test`'s business.
    """
    notebook = json.loads(text)
    if notebook["nbformat"] != 4:
        raise ValueError(f"nbformat is {notebook['nbformat']}")
    for cell in notebook["cells"]:
        cell["source"] = _joined(cell["source"])
        for output in cell.get("outputs", []):
            output["text"] = _joined(output.get("text", ""))
            output["data"] = {mime: _joined(value) for mime, value in output.get("data", {}).items()}
    return notebook["cells"]


def _joined(text: str | list[str]) -> str:
    return "".join(text) if isinstance(text, list) else text


def _cell_markdown(cell: dict, number: int, source: Source, problems: Problems) -> str:
    place = source.place(number)
    if cell["cell_type"] == "markdown":
        return _mark_fences(cell["source"], place, problems)
    if cell["cell_type"] == "raw":
        problems.add(place, "only the first cell may be raw")
    elif cell["source"].strip():
        options, code = split_options(cell["source"], "#|", place, problems)
        source.code_cells[number] = CodeCell(number, options, code, cell["outputs"])
        if cell["execution_count"] is None:
            problems.add(place, "was never executed: run make execute, which stores the outputs")
    return ""


def _front_matter(text: str, place: Place, problems: Problems) -> dict:
    try:
        front = yaml.safe_load(text) or {}
    except yaml.YAMLError as error:
        problems.add(place, f"front matter {yaml_problem(error)}")
        return {}
    if not isinstance(front, dict):
        problems.add(place, "front matter must be a mapping of keys to values")
        return {}
    for key in front.keys() - FRONT_MATTER_KEYS:
        problems.add(place, f"unknown key {key} in the front matter; known are {', '.join(sorted(FRONT_MATTER_KEYS))}")
    if "exactness" in front and front["exactness"] not in EXACTNESS:
        problems.add(place, f"exactness must be one of {', '.join(EXACTNESS)}, got {front['exactness']!r}")
    return front


def _take_title(text: str, source: Source, place: Place, problems: Problems) -> str:
    """Set the title from the front matter, else from the first heading, which leaves the text."""
    heading = _LEVEL_1_HEADING.match(text)
    title = source.front.get("title") or (heading and heading[1])
    if not title:
        problems.add(place, "has no title: give it one in the front matter or as its first heading")
        return text
    blocks, _ = pandoc.read(f"# {title}")
    _, source.title_attr, source.title = blocks[0]["c"]
    if "{#" not in str(title):
        source.title_attr[0] = ""  # pandoc makes one up from the words
    if "title" in source.front:
        return text
    return "\n" * heading[0].count("\n") + text[heading.end() :]


def _mark_fences(text: str, place: Place, problems: Problems) -> str:
    foreign = _FOREIGN_FENCE.search(text)
    if foreign:
        problems.add(place, f"the options of {{{foreign[1]}}} go on lines of their own below, not into the braces")
    return _EXECUTABLE_FENCE.sub(rf"\1{EXECUTABLE}\2", text)


def split_options(code: str, marker: str, place: Place, problems: Problems) -> tuple[dict, str]:
    """Take the option lines (`#| key: value`) off the top of a cell."""
    lines = code.split("\n")
    count = next((i for i, line in enumerate(lines) if not line.startswith(marker)), len(lines))
    rest = "\n".join(lines[count:]).strip("\n")
    try:
        options = yaml.safe_load("\n".join(line[len(marker) :].removeprefix(" ") for line in lines[:count])) or {}
    except yaml.YAMLError as error:
        problems.add(place, f"what its options say {yaml_problem(error)}")
        return {}, rest
    if not isinstance(options, dict):
        problems.add(place, f"cell options must be lines of the form {marker} key: value")
        return {}, rest
    return options, rest
