"""Calls pandoc (from the package pypandoc-binary): Markdown to its syntax tree, and the tree to HTML."""

import functools
import json
import re
import subprocess
from pathlib import Path

import pypandoc

MARKDOWN = "markdown"


class PandocError(RuntimeError):
    """pandoc refused its input; the message is pandoc's."""


@functools.cache
def _program() -> str:
    return pypandoc.get_pandoc_path()


def _run(arguments: list[str], text: str) -> tuple[str, list[str]]:
    """Run pandoc on `text`; return its output and its warnings."""
    done = subprocess.run([_program(), *arguments], input=text, capture_output=True, encoding="utf-8")
    if done.returncode:
        raise PandocError(" ".join(done.stderr.split()))
    warnings = re.split(r"^\[WARNING\] ", done.stderr, flags=re.MULTILINE)[1:]
    return done.stdout, [" ".join(warning.split()) for warning in warnings]


def read(markdown: str) -> tuple[list, list[str]]:
    """Parse Markdown in pandoc's dialect, which is Quarto's; return its blocks and pandoc's warnings."""
    output, warnings = _read(markdown)
    return json.loads(output)["blocks"], list(warnings)


@functools.lru_cache(maxsize=4096)
def _read(markdown: str) -> tuple[str, list[str]]:
    """Kept as text, so that each caller gets a tree of its own; a preview parses again only what changed."""
    return _run(["--from", MARKDOWN, "--to", "json", "--preserve-tabs"], markdown)


def read_inlines(markdown: str) -> list:
    """Parse a caption or a title: one paragraph of Markdown."""
    blocks, _ = read(markdown)
    return blocks[0]["c"] if len(blocks) == 1 and blocks[0]["t"] in ("Para", "Plain") else []


def write(blocks: list, bibliography: list[Path] = (), csl: Path | None = None, also_list: list[str] = ()) -> str:
    """Write blocks as an HTML fragment, citations typeset; `also_list` names uncited works for the list."""
    arguments = ["--from", "json", "--to", "html5", "--wrap", "none", "--citeproc", "--metadata", "link-citations"]
    for path in bibliography:
        arguments += ["--bibliography", str(path)]
    if csl:
        arguments += ["--csl", str(csl)]
    document = {"pandoc-api-version": _api_version(), "meta": _nocite(also_list), "blocks": blocks}
    return _run(arguments, json.dumps(document))[0]


def _nocite(keys: list[str]) -> dict:
    citations = [
        {
            "citationId": key,
            "citationPrefix": [],
            "citationSuffix": [],
            "citationMode": {"t": "NormalCitation"},
            "citationNoteNum": 0,
            "citationHash": 0,
        }
        for key in keys
    ]
    return {"nocite": {"t": "MetaInlines", "c": [{"t": "Cite", "c": [citations, []]}]}} if keys else {}


@functools.cache
def _api_version() -> list[int]:
    return json.loads(_run(["--from", MARKDOWN, "--to", "json"], "")[0])["pandoc-api-version"]


@functools.cache
def highlighted_languages() -> frozenset[str]:
    """Names of the languages that pandoc can highlight."""
    return frozenset(_run(["--list-highlight-languages"], "")[0].split())


def citation_keys(path: Path) -> set[str]:
    """The keys of a bibliography in BibTeX, CSL JSON or CSL YAML."""
    formats = {".bib": "biblatex", ".json": "csljson", ".yaml": "markdown", ".yml": "markdown"}
    output, _ = _run(["--from", formats[path.suffix], "--to", "csljson"], path.read_text(encoding="utf-8"))
    return {entry["id"] for entry in json.loads(output)}
