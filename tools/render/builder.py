"""Builds the book: reads every page, resolves what they say of each other, and writes those that changed."""

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from . import pandoc
from .checks import check_anchors, check_page
from .errors import Problems
from .glossary import mark_terms
from .heights import load_heights
from .node import compile_pages, write_search_index
from .nodes import plain_text
from .pages import Chapter, Fragment, fill_not_found, fill_template, write_fragment
from .project import CONFIG, PageFile, Project, load_project
from .resolve import Book, Resolved, resolve
from .source import Source, read_source
from .structure import Structure, structure

HERE = Path(__file__).parent
CACHE = Path(".cache") / "render"
NOT_FOUND = "404.html"


@dataclass
class BuildReport:
    """What a build did: pages written and left as they were (their sources), and how long it took."""

    out: Path
    written: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    seconds: float = 0.0


@dataclass
class _Record:
    """What is remembered of a page between builds."""

    key: str
    ids: list[str]
    files: list[str]
    inputs: dict[str, str]
    assets: dict[str, str]


def build(
    root: Path | str, out: Path | str | None = None, only_changed: bool = True, say: Callable[[str], None] = print
) -> BuildReport:
    """Build the book in `root` into `out` (default: what `_quarto.yml` says).

    Args:
        only_changed: write only pages whose content, or what it depends on, is new since the last build.
        say: called with each line of progress.

    Raises:
        BuildError: something in the sources is wrong; the message lists all that was found, and nothing is written.
    """
    return _Build(Path(root).resolve(), out, only_changed, say).run()


class _Build:
    """One run; the methods stand in the order in which `run` calls them."""

    def __init__(self, root: Path, out: Path | str | None, only_changed: bool, say: Callable[[str], None]):
        self.started = time.monotonic()
        self.say = say
        self.problems = Problems()
        self.parsed = root / CACHE / "parsed.json"
        pandoc.recall_parsed(self.parsed)
        self.project: Project = load_project(root)
        self.heights = load_heights(root, self.problems)
        self.root = root
        self.out = Path(out).resolve() if out else root / self.project.output_dir
        self.cache = root / CACHE / f"{_hash(str(self.out))[:16]}.json"
        self.records, self.earlier_files, self.index = self._load_state()
        if not only_changed:
            self.records = {}
        self.report = BuildReport(self.out)
        self.cited: list[str] = []
        self.references: PageFile | None = None

    def run(self) -> BuildReport:
        sources = [read_source(file, self.root, self.problems) for file in self.project.pages]
        chapters = _chapters(sources)
        structures = [
            structure(source, chapter.number, self.problems) for source, chapter in zip(sources, chapters, strict=True)
        ]
        mark_terms(structures, self.problems)
        pages = self._resolve(structures)
        self.cited = sorted({key for page in pages for key in page.citations})
        self.references = self._references_page(pages)
        keys = self._keys(pages, chapters)
        changed = [page for page in pages if self._is_changed(page, keys[page.file.id])]
        fragments = {page.file.id: self._fragment(page) for page in changed}
        ids = self._check(pages, fragments)
        compiled = self._compile(changed)
        self.problems.raise_if_any()

        for page in changed:
            self.records[page.file.id] = self._record(page, keys[page.file.id], ids[page.file.id], compiled)
            self._write(page, self._fill(page, fragments[page.file.id], chapters, compiled))
        self.records = {page.file.id: self.records[page.file.id] for page in pages}
        self._finish(pages, chapters)
        return self.report

    def _resolve(self, structures: list[Structure]) -> list[Resolved]:
        labels = {}
        for label in (label for page in structures for label in page.labels):
            if label.id in labels:
                self.problems.add(label.place, f"the label {label.id} is already used in {labels[label.id].place}")
            labels.setdefault(label.id, label)
        pages = {str(file.source): file for file in self.project.pages}
        book = Book(self.root, labels, self._citation_keys(), pages)
        return [resolve(page, book, self.problems) for page in structures]

    def _citation_keys(self) -> set[str]:
        keys = set()
        for path in self.project.bibliography:
            try:
                keys |= pandoc.citation_keys(path)
            except pandoc.PandocError as error:
                self.problems.add(path.relative_to(self.root).as_posix(), f"can't be read: {error}")
        self.problems.raise_if_any()  # else every citation would be told as missing
        return keys

    def _references_page(self, pages: list[Resolved]) -> PageFile | None:
        """The page that lists the works which the book cites."""
        for page in pages:
            if any(node["t"] == "Div" and node["c"][0][0] == "refs" for node in page.nodes):
                return page.file
        if self.cited:
            self.problems.add(CONFIG, "the book cites works, but none of its pages lists them in ::: {#refs}")
        return None

    def _keys(self, pages: list[Resolved], chapters: list[Chapter]) -> dict[str, str]:
        """For each page a hash of all that its HTML is made of, but for the modules that it imports."""
        shared = [
            _fingerprint(self.root),
            [_file_hash(path) for path in [self.root / CONFIG, *self.project.bibliography]],
            _file_hash(self.project.csl) if self.project.csl else None,
            [[str(chapter.file.output), chapter.title, chapter.number] for chapter in chapters],
        ]
        return {page.file.id: _hash(json.dumps([shared, *self._content(page)])) for page in pages}

    def _content(self, page: Resolved) -> list:
        content = [page.front, page.nodes, page.page.source.front]
        content += [[asdict(item) for item in [*page.formulas, *page.page.ojs]], page.page.defined]
        content += [{path: hashlib.sha256(data).hexdigest() for path, data in page.page.media.items()}]
        content += [self.cited if page.file == self.references else str(self.references)]
        content += [self.heights.get(page.file.id)]
        return content

    def _is_changed(self, page: Resolved, key: str) -> bool:
        record = self.records.get(page.file.id)
        return (
            record is None
            or record.key != key
            or any(_file_hash(self.root / path) != digest for path, digest in record.inputs.items())
            or not all((self.out / path).is_file() for path in [*record.files, *record.assets.values()])
        )

    def _fragment(self, page: Resolved) -> Fragment:
        started = time.monotonic()
        fragment = write_fragment(page, self.project, self.references, self.cited)
        self.report.written.append(str(page.file.source))
        self.say(f"{str(page.file.source):<50} {time.monotonic() - started:5.1f} s")
        return fragment

    def _check(self, pages: list[Resolved], fragments: dict[str, Fragment]) -> dict[str, list[str]]:
        """Check the fragments, and the links of all pages; return the ids that each page has."""
        ids = {}
        for page in pages:
            name = page.file.id
            ids[name] = (
                check_page(fragments[name], page, self.problems) if name in fragments else self.records[name].ids
            )
        by_output = {str(page.file.output): set(ids[page.file.id]) for page in pages}
        check_anchors([anchor for page in pages for anchor in page.anchors], by_output, self.problems)
        return ids

    def _compile(self, changed: list[Resolved]) -> dict:
        if not changed:
            return {}
        started = time.monotonic()
        compiled = compile_pages(changed, self.root, self.out, self.problems)
        self.say(f"{'OJS, formulas, styles and scripts':<50} {time.monotonic() - started:5.1f} s")
        return compiled

    def _record(self, page: Resolved, key: str, ids: list[str], compiled: dict) -> _Record:
        module = compiled["pages"].get(page.file.id, {"imports": [], "files": []})
        inputs = {path: _file_hash(self.root / path) for path in [*module["imports"], *module["files"]]}
        files = [str(page.file.output), *([module["module"]] if "module" in module else [])]
        folder = page.file.output.parent
        files += [str(folder / path) for path in page.page.media]
        return _Record(key, ids, files, inputs, compiled["assets"])

    def _fill(self, page: Resolved, fragment: Fragment, chapters: list[Chapter], compiled: dict) -> str:
        return fill_template(page, fragment, chapters, self.project, compiled, self.heights.get(page.file.id, {}))

    def _write(self, page: Resolved, html: str) -> None:
        self._put(str(page.file.output), html.encode())
        for path, data in page.page.media.items():
            self._put(str(page.file.output.parent / path), data)

    def _finish(self, pages: list[Resolved], chapters: list[Chapter]) -> None:
        """Write and copy what belongs to the site as a whole, and remove what only an earlier build wrote."""
        assets = next(iter(self.records.values())).assets
        self._put(NOT_FOUND, fill_not_found(chapters, self.project, assets).encode())
        files = {path for record in self.records.values() for path in [*record.files, *record.assets.values()]}
        self._update_index(pages)
        files |= {NOT_FOUND, *self._copy(pages), *self.index}
        for path in set(self.earlier_files) - files:
            self._remove(self.out / path)
        self._save_state(files)

        sources = [str(page.file.source) for page in pages]
        self.report.unchanged = [source for source in sources if source not in self.report.written]
        self.report.seconds = time.monotonic() - self.started
        written, unchanged = len(self.report.written), len(self.report.unchanged)
        self.say(f"{written} pages written, {unchanged} unchanged, in {self.report.seconds:.1f} s: {self.out}")

    def _update_index(self, pages: list[Resolved]) -> None:
        """Make the search index anew when a page was written; `index` lists its files."""
        if self.report.written or not all((self.out / path).is_file() for path in self.index):
            started = time.monotonic()
            self.index = write_search_index([str(page.file.output) for page in pages], self.out, self.project.lang)
            self.say(f"{'search index':<50} {time.monotonic() - started:5.1f} s")

    def _put(self, path: str, data: bytes) -> None:
        target = self.out / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)

    def _copy(self, pages: list[Resolved]) -> set[str]:
        """Copy what pages link to, notebooks and the project's resources; only what is new."""
        wanted = {path for page in pages for path in page.files}
        wanted |= {str(page.file.source) for page in pages if page.page.source.is_notebook}
        wanted |= {path for record in self.records.values() for path in record.inputs}
        for pattern in self.project.resources:
            # Before Python 3.13 a pattern that ends with ** finds only folders.
            for path in self.root.glob(f"{pattern}/*" if pattern.endswith("**") else pattern):
                if path.is_file():
                    wanted.add(path.relative_to(self.root).as_posix())
        for path in wanted:
            if _file_hash(self.root / path) != _file_hash(self.out / path):
                self._put(path, (self.root / path).read_bytes())
        return wanted

    def _remove(self, path: Path) -> None:
        """Remove a file and the folders that it leaves empty."""
        path.unlink(missing_ok=True)
        for folder in path.parents:
            if folder == self.out or not folder.is_dir() or any(folder.iterdir()):
                break
            folder.rmdir()

    def _load_state(self) -> tuple[dict[str, _Record], list[str], list[str]]:
        """The records, the files and those of the search index of the last build into this folder."""
        try:
            state = json.loads(self.cache.read_text(encoding="utf-8"))
            records = {name: _Record(**record) for name, record in state["pages"].items()}
            return records, state["files"], state["index"]
        except (OSError, ValueError, TypeError, KeyError):
            return {}, [], []  # none yet, or one of another version of the renderer

    def _save_state(self, files: set[str]) -> None:
        pages = {name: asdict(record) for name, record in self.records.items()}
        state = {"pages": pages, "files": sorted(files), "index": self.index}
        self.cache.parent.mkdir(parents=True, exist_ok=True)
        self.cache.write_text(json.dumps(state), encoding="utf-8")
        pandoc.keep_parsed(self.parsed)


def _chapters(sources: list[Source]) -> list[Chapter]:
    """The pages in the book's order; those whose title isn't `.unnumbered` are counted."""
    chapters, number = [], 0
    for source in sources:
        number += source.is_numbered
        chapters.append(Chapter(source.page, plain_text(source.title), number if source.is_numbered else None))
    return chapters


def _fingerprint(root: Path) -> str:
    """A hash of the renderer itself: its code, its template and the packages that it bundles."""
    files = sorted(path for path in HERE.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    files += [path for path in [root / "package-lock.json"] if path.is_file()]
    return _hash("".join(f"{path.name} {_file_hash(path)}" for path in files))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _file_hash(path: Path) -> str | None:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None
