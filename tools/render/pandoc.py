"""Calls pandoc (from the package pypandoc-binary): Markdown to its syntax tree, and the tree to HTML."""

import functools
import hashlib
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
    key = hashlib.sha256(f"{pypandoc.__version__}\0{markdown}".encode()).hexdigest()
    if key not in _parsed:
        _parsed[key] = _run(["--from", MARKDOWN, "--to", "json", "--preserve-tabs"], markdown)
    _asked.add(key)
    output, warnings = _parsed[key]
    return json.loads(output)["blocks"], list(warnings)


# What has been parsed, by a digest of what was asked: starting pandoc takes most of the time of a small change. Trees
# are kept as text, so that each caller gets one of its own.
_parsed: dict[str, tuple[str, list[str]]] = {}
_asked: set[str] = set()


def recall_parsed(path: Path) -> None:
    """Take up what an earlier build has parsed; without a file that can be read, everything is parsed again."""
    _asked.clear()
    try:
        _parsed.update(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return


def keep_parsed(path: Path) -> None:
    """Store what was asked for since `recall_parsed`, for the next build."""
    path.write_text(json.dumps({key: _parsed[key] for key in sorted(_asked)}), encoding="utf-8")


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
