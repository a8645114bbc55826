"""Books to render: the fixture that holds every construct, and small ones made for one test."""

import json
import shutil
from pathlib import Path

import nbformat.v4 as v4
import pytest
from render import BuildError, build

FIXTURE = Path(__file__).parent / "fixtures" / "book"

CONFIG = """\
project:
  type: book
  output-dir: _site
book:
  title: Small
  chapters: [index.qmd, chapters/01-first.ipynb]
bibliography: references.bib
"""
BIBLIOGRAPHY = "@article{doe2020, title={On Guessing}, author={Doe, Jane}, year={2020}, journal={J}}\n"
FRONT_MATTER = '---\ntitle: "First {#sec-first}"\n---'


class SmallBook:
    """A book of a preface and one notebook, which a test then breaks."""

    def __init__(self, root: Path):
        self.root = root
        self.out = root / "_site"
        self.write("_quarto.yml", CONFIG)
        self.write("references.bib", BIBLIOGRAPHY)
        self.write("index.qmd", "# Preface {.unnumbered}\n\nWords.\n\n::: {#refs}\n:::\n")
        self.notebook("Words.")

    def write(self, path: str, text: str) -> None:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")

    def notebook(self, *cells, front: str = FRONT_MATTER) -> None:
        """Write the chapter: a string is a Markdown cell (the first one is cell 2)."""
        made = [v4.new_raw_cell(front), *(v4.new_markdown_cell(c) if isinstance(c, str) else c for c in cells)]
        self.write("chapters/01-first.ipynb", json.dumps(v4.new_notebook(cells=made)))

    def build(self, **options):
        return build(self.root, say=lambda line: None, **options)

    def problems(self) -> list[str]:
        """What the build says is wrong; fails if it says nothing."""
        with pytest.raises(BuildError) as caught:
            self.build()
        return caught.value.problems

    def page(self, path: str = "chapters/01-first.html") -> str:
        return (self.out / path).read_text(encoding="utf-8")


def code_cell(source: str, *outputs, count: int | None = 1):
    """An executed code cell."""
    return v4.new_code_cell(source, execution_count=count, outputs=list(outputs))


def display(data: dict, **metadata):
    return v4.new_output("display_data", data=data, metadata=metadata)


@pytest.fixture
def book(tmp_path) -> SmallBook:
    return SmallBook(tmp_path)


@pytest.fixture
def without_node(monkeypatch):
    """Leaves out what node would do, for tests of what is found before it runs."""

    def answer(pages, root, out, problems):
        return {"assets": {}, "pages": {}, "math": {page.file.id: ["" for _ in page.formulas] for page in pages}}

    monkeypatch.setattr("render.builder.compile_pages", answer)


@pytest.fixture(scope="session")
def site(tmp_path_factory) -> Path:
    """The fixture book, built once."""
    root = tmp_path_factory.mktemp("fixture") / "book"
    shutil.copytree(FIXTURE, root)
    return build(root, say=lambda line: None).out
