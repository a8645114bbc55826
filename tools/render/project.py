"""Reads `_quarto.yml`: which pages the book has, in which order and parts. Unknown keys are errors."""

from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

import yaml

from . import pandoc
from .errors import Place, Problems, yaml_problem

CONFIG = "_quarto.yml"
# What is read here, and what only Quarto needs (a reader of the embedded site misses nothing by it).
READ = {
    "": {"project", "lang", "book", "bibliography", "csl", "link-citations", "execute", "format"},
    "project": {"type", "output-dir", "resources"},
    "book": {"title", "subtitle", "author", "description", "chapters", "site-url", "repo-url", "page-footer"},
    "execute": {"enabled"},
    "format": {"html"},
    "format.html": {"toc", "number-sections", "code-copy"},
}
ONLY_QUARTO = {
    "": {"validate-yaml"},
    "project": {"render", "pre-render", "post-render", "preview"},
    "book": {"search", "sidebar", "favicon", "repo-actions", "open-graph", "page-navigation", "back-to-top-navigation"},
    "execute": set(),
    "format": set(),
    "format.html": {"html-math-method", "theme", "highlight-style", "code-overflow", "respect-user-color-scheme"},
}
FOOTER_SIDES = ("left", "center", "right")
FIXED = {
    "project.type": "book",
    "execute.enabled": False,
    "link-citations": True,
    "format.html.toc": True,
    "format.html.number-sections": True,
    "format.html.code-copy": True,
}


@dataclass(frozen=True)
class PageFile:
    """One page of the book: its source, relative to the root, and the part it stands in."""

    source: PurePosixPath
    part: str | None = None

    @property
    def id(self) -> str:
        return "-".join(self.source.with_suffix("").parts)

    @property
    def output(self) -> PurePosixPath:
        return self.source.with_suffix(".html")

    @property
    def root(self) -> str:
        """Relative prefix from the page to the site's root."""
        return "../" * (len(self.source.parts) - 1)


@dataclass
class Project:
    """The book as `_quarto.yml` describes it."""

    root: Path
    title: str
    subtitle: str
    author: str
    lang: str
    output_dir: str
    site_path: str
    footer: str
    resources: list[str]
    bibliography: list[Path]
    csl: Path | None
    pages: list[PageFile] = field(default_factory=list)


def load_project(root: Path) -> Project:
    """Read and check `_quarto.yml` in `root`; raises `BuildError` for what can't be built."""
    problems = Problems()
    place = Place(CONFIG)
    path = root / CONFIG
    if not path.is_file():
        problems.add(place, f"not found in {root}: run this in the book's folder")
        problems.raise_if_any()
    try:
        config = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        problems.add(place, yaml_problem(error))
        problems.raise_if_any()
    _check_keys(config, problems)
    problems.raise_if_any()

    book = config["book"]
    project = Project(
        root=root,
        title=book.get("title", ""),
        subtitle=book.get("subtitle", ""),
        author=book.get("author", ""),
        lang=config.get("lang", "en"),
        output_dir=config["project"].get("output-dir", "_book"),
        site_path=urlsplit(book.get("site-url", "")).path.rstrip("/") + "/",
        footer=_footer(book),
        resources=_as_list(config["project"].get("resources")),
        bibliography=[root / name for name in _as_list(config.get("bibliography"))],
        csl=root / config["csl"] if "csl" in config else None,
        pages=list(_pages(book.get("chapters", []), None, problems)),
    )
    _check_files(project, problems)
    problems.raise_if_any()
    return project


def _check_keys(config: object, problems: Problems) -> None:
    for section, known in READ.items():
        settings = config
        for name in filter(None, section.split(".")):
            settings = settings.get(name, {}) if isinstance(settings, dict) else {}
        if not isinstance(settings, dict):
            problems.add(Place(CONFIG), f"{section or 'the file'} must be a mapping, got {settings!r}")
            continue
        for key, value in settings.items():
            name = f"{section}.{key}".lstrip(".")
            if key not in known | ONLY_QUARTO[section]:
                problems.add(Place(CONFIG), f"unknown key {name}: the embedded renderer does not know what it asks for")
            elif name in FIXED and value != FIXED[name]:
                problems.add(Place(CONFIG), f"{name} must be {FIXED[name]!r} here, got {value!r}")
    if isinstance(config, dict) and not ({"project", "book"} <= set(config)):
        problems.add(Place(CONFIG), "needs the keys project and book")


def _pages(chapters: list, part: str | None, problems: Problems):
    for entry in chapters:
        if isinstance(entry, str):
            yield PageFile(PurePosixPath(entry), part)
        elif isinstance(entry, dict) and set(entry) <= {"part", "chapters"} and part is None:
            yield from _pages(entry.get("chapters", []), entry.get("part", ""), problems)
        else:
            problems.add(Place(CONFIG), f"in book.chapters: a file or a part with chapters is expected, got {entry!r}")


def _check_files(project: Project, problems: Problems) -> None:
    files = [project.root / page.source for page in project.pages] + project.bibliography
    for path in [*files, *filter(None, [project.csl])]:
        if not path.is_file():
            problems.add(Place(CONFIG), f"names {path.relative_to(project.root).as_posix()}, which does not exist")
    for page in project.pages:
        if page.source.suffix not in (".qmd", ".ipynb"):
            problems.add(Place(CONFIG), f"{page.source}: a page is a .qmd or an .ipynb file")
    if not project.pages or project.pages[0].source.stem != "index":
        problems.add(Place(CONFIG), "book.chapters must begin with index.qmd")


def _footer(book: dict) -> str:
    """HTML of the footer: `page-footer`, a text or one for left, center and right; else title and author."""
    footer = book.get("page-footer") or f"{book.get('title', '')} · {book.get('author', '')}"
    texts = [footer] if isinstance(footer, str) else [footer[side] for side in FOOTER_SIDES if side in footer]
    return "".join(pandoc.write(pandoc.read(text)[0]) for text in texts).strip()


def _as_list(value: str | list | None) -> list[str]:
    if value is None:
        return []
    return [value] if isinstance(value, str) else value
