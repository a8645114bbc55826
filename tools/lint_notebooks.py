"""Check in executed notebooks what comparing their outputs passes over in silence.

    python tools/lint_notebooks.py [NOTEBOOK …]        (all chapters when none is named)

nbval runs every cell again and compares what it prints. It says nothing when a notebook was never executed, when a
figure's PNG is gone, when data for widgets lost its mark, and of course nothing about what a rendered page needs.
Each rule below is a function from a notebook to its findings; ``tests/tools`` has a broken notebook for each.
"""

import itertools
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import nbformat
import yaml

ROOT = Path(__file__).resolve().parent.parent
FRONT_MATTER_KEYS = ("title", "description")
NOTEBOOK_METADATA_KEYS = {"kernelspec", "language_info"}
CELL_METADATA_KEYS = {"tags"}
BRIDGE_SCRIPT = re.compile(r'<script[^>]*type="ojs-define"')
OJS_BLOCK = re.compile(r"^(`{3,})\s*\{ojs\}[^\n]*\n(.*?)^\1", re.MULTILINE | re.DOTALL)
# What Quarto's OJS offers by name and fetches from a CDN once a page uses it.
FETCHED_BUILTIN = re.compile(
    r"(?<![\w.$])(Inputs|Plot|d3|htl|md|tex|dot|mermaid|topojson|vl|aq|Arrow|SQLite|DuckDBClient|L|_|require)(?=[.(`])"
)
OJS_IMPORT = re.compile(r"""import\s*\{[^}]*\}\s*from\s*["'][^"']+["'];?""")


class Finding(NamedTuple):
    """What is wrong, and in which cell: counted from 1, or 0 for the notebook as a whole."""

    cell: int
    message: str


def lint(path: Path) -> list[Finding]:
    """Return everything that the rules find in one notebook."""
    notebook = nbformat.read(path, as_version=4)
    rules = [*RULES, exactness] if path.name[:1].isdigit() else RULES
    return sorted(finding for rule in rules for finding in rule(notebook))


def front_matter(notebook) -> Iterator[Finding]:
    """The first cell is raw YAML that names the page and says what it is about."""
    try:
        values = _front_matter(notebook)
    except yaml.YAMLError as error:
        yield Finding(1, f"front matter is not YAML: {error}")
        return
    if values is None:
        yield Finding(
            1, "must be a raw cell with YAML front matter between two lines of ---"
        )
        return
    for key in FRONT_MATTER_KEYS:
        if not values.get(key):
            yield Finding(1, f"front matter has no {key}")


def exactness(notebook) -> Iterator[Finding]:
    """A chapter says how exact its method is. (The pages at the back, without a number, tell of no single one.)"""
    try:
        values = _front_matter(notebook) or {}
    except yaml.YAMLError:  # a finding of its own
        return
    if not values.get("exactness"):
        yield Finding(1, "front matter has no exactness")


def metadata(notebook) -> Iterator[Finding]:
    """Metadata is the kernel and the language: no timing, no state of an editor or of a pairing tool."""
    kernel = notebook.metadata.get("kernelspec", {}).get("name")
    if kernel != "python3":
        yield Finding(0, f"kernel is {kernel!r}, must be 'python3'")
    for key in sorted(notebook.metadata.keys() - NOTEBOOK_METADATA_KEYS):
        yield Finding(0, f"leftover notebook metadata {key!r}")
    if notebook.metadata.get("language_info", {}).keys() - {"name"}:
        yield Finding(0, "language_info holds more than the language's name")
    for number, cell in enumerate(notebook.cells, 1):
        for key in sorted(cell.metadata.keys() - CELL_METADATA_KEYS):
            yield Finding(number, f"leftover cell metadata {key!r}")


def executed_once_in_order(notebook) -> Iterator[Finding]:
    """Every code cell was executed, in one run from top to bottom."""
    cells = [
        (number, cell) for number, cell in _code_cells(notebook) if cell.source.strip()
    ]
    for expected, (number, cell) in enumerate(cells, 1):
        if cell.execution_count is None:
            yield Finding(number, "was not executed, its outputs are missing")
        elif cell.execution_count != expected:
            yield Finding(
                number,
                f"execution count is {cell.execution_count}, must be {expected}: run from the top",
            )


def clean_outputs(notebook) -> Iterator[Finding]:
    """No cell ends in an error or writes to stderr: readers would see both, and warnings hold machine paths."""
    for number, cell in _code_cells(notebook):
        for output in cell.outputs:
            if output.output_type == "error":
                yield Finding(
                    number, f"stored output is an error: {output.ename}: {output.evalue}"
                )
            elif output.output_type == "stream" and output.name == "stderr":
                yield Finding(
                    number, f"writes to stderr: {output.text.strip().splitlines()[0]}"
                )


def readable_options(notebook) -> Iterator[Finding]:
    """The ``#|`` lines of every cell are YAML."""
    for number, cell in _code_cells(notebook):
        try:
            yaml.safe_load(_option_lines(cell))
        except yaml.YAMLError as error:
            yield Finding(number, f"`#|` options are not YAML: {error}")


def figures(notebook) -> Iterator[Finding]:
    """A figure has its image, a label to refer to, a caption, and words for who can't see it.

    A widget's stand-in is part of the widget's figure: it has words of its own and no label or caption.
    """
    for number, cell in _code_cells(notebook):
        options = _options(cell)
        labelled = str(options.get("label", "")).startswith("fig-")
        drawn = any("image/png" in output.get("data", {}) for output in cell.outputs)
        if labelled and not drawn:
            yield Finding(number, f"{options['label']} has no PNG among its outputs")
        stand_in = "widget-static" in str(options.get("classes", "")).split()
        if drawn and not labelled and not stand_in:
            yield Finding(number, "draws a figure but has no `#| label: fig-…`")
        for option in ("fig-alt",) if stand_in else ("fig-cap", "fig-alt"):
            if (drawn or labelled) and not options.get(option):
                yield Finding(number, f"draws a figure but has no `#| {option}`")


def bridges(notebook) -> Iterator[Finding]:
    """A cell that hands data to widgets keeps them in its output, marked so that Quarto finds them."""
    for number, cell in _code_cells(notebook):
        payloads = [output for output in cell.outputs if _is_payload(output)]
        calls = re.search(r"^\s*(\w+\.)?ojs_define\(", cell.source, re.MULTILINE)
        if calls and not payloads:
            yield Finding(
                number, "calls ojs_define, but its output holds no data for the page"
            )
        if any(output.metadata.get("ojs_define") is not True for output in payloads):
            yield Finding(number, "output metadata has lost {'ojs_define': true}")
        if calls or payloads:
            yield from _bridge_options(number, _options(cell))


def _bridge_options(number: int, options: dict) -> Iterator[Finding]:
    if options.get("include") is False:
        yield Finding(
            number,
            "`#| include: false` on a bridge cell drops its data; use `#| echo: false`",
        )
    elif options.get("echo") is not False:
        yield Finding(number, "a bridge cell needs `#| echo: false`")


def ojs_imports(notebook) -> Iterator[Finding]:
    """Displaying an import is of use to nobody, and under Quarto asks a foreign host for the library to do it."""
    for number, cell in enumerate(notebook.cells, 1):
        blocks = OJS_BLOCK.findall(cell.source) if cell.cell_type == "markdown" else []
        for _, block in blocks:
            only_imports = not OJS_IMPORT.sub(
                "", re.sub(r"^\s*//.*$", "", block, flags=re.MULTILINE)
            ).strip()
            if only_imports and not re.search(
                r"^//\|\s*output:\s*false\s*$", block, re.MULTILINE
            ):
                yield Finding(
                    number, "an OJS block that only imports needs `//| output: false`"
                )


def ojs_builtins(notebook) -> Iterator[Finding]:
    """Libraries come from the vendored module: as builtins they would, under Quarto, come from a CDN."""
    blocks = [
        (number, block)
        for number, cell in enumerate(notebook.cells, 1)
        if cell.cell_type == "markdown"
        for _, block in OJS_BLOCK.findall(cell.source)
    ]
    imports = " ".join(found for _, block in blocks for found in OJS_IMPORT.findall(block))
    imported = set(re.findall(r"\w+", imports))
    for number, block in blocks:
        for name in sorted(set(FETCHED_BUILTIN.findall(block)) - imported):
            yield Finding(
                number, f"imports no {name}: it is in ../widgets/vendor/observable.js"
            )


RULES = (
    front_matter,
    metadata,
    executed_once_in_order,
    clean_outputs,
    readable_options,
    figures,
    bridges,
    ojs_imports,
    ojs_builtins,
)


def _front_matter(notebook) -> dict | None:
    """The values of the first cell's YAML; None where there is no such cell.

    Raises:
        YAMLError: what stands there can't be read.
    """
    first = notebook.cells[0] if notebook.cells else None
    fenced = first and re.fullmatch(r"---\n(.*?)\n---\s*", first.source, re.DOTALL)
    if not fenced or first.cell_type != "raw":
        return None
    values = yaml.safe_load(fenced[1])
    return values if isinstance(values, dict) else {}


def _code_cells(notebook) -> Iterator[tuple[int, nbformat.NotebookNode]]:
    return (
        (number, cell)
        for number, cell in enumerate(notebook.cells, 1)
        if cell.cell_type == "code"
    )


def _options(cell) -> dict:
    """Read the options of a code cell; none where they can't be read, which is a finding of its own."""
    try:
        values = yaml.safe_load(_option_lines(cell))
    except yaml.YAMLError:
        return {}
    return values if isinstance(values, dict) else {}


def _option_lines(cell) -> str:
    lines = itertools.takewhile(
        lambda line: line.startswith("#|"), cell.source.lstrip().splitlines()
    )
    return "\n".join(line.removeprefix("#|").removeprefix(" ") for line in lines)


def _is_payload(output) -> bool:
    return bool(BRIDGE_SCRIPT.search(output.get("data", {}).get("text/html", "")))


def main(arguments: list[str]) -> int:
    paths = [Path(argument) for argument in arguments] or sorted(
        (ROOT / "chapters").glob("*.ipynb")
    )
    findings = [(path, finding) for path in paths for finding in lint(path)]
    for path, finding in findings:
        place = f"{path.name} cell {finding.cell}" if finding.cell else path.name
        print(f"{place}: {finding.message}")
    print(f"{len(paths)} notebooks linted, {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
