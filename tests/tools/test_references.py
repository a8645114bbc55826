"""The bibliography: each work can be found, and each is cited on a page of the book.

That a page cites nothing else is the renderer's to see.
"""

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
ENTRY = re.compile(r"^@(\w+)\{([\w-]+),\n(.*?)^\}", re.MULTILINE | re.DOTALL)
FIELD = re.compile(r"^\s*(\w+)\s*=\s*\{(.*)\},?$", re.MULTILINE)
# The core papers and the further reading that the book promises.
PROMISED = {
    "leviathan2023",
    "chen2023",
    "stern2018",
    "cai2024",
    "li2024eagle",
    "li2024eagle2",
    "li2025eagle3",
    "fu2024",
    "santilli2023",
    "emara2026",
    "miao2024",
    "sun2023",
    "sun2024",
    "chen2024sequoia",
    "xia2024",
    "kwon2023",
    "doucet2011",
}


def entries(bibliography):
    """Key → fields."""
    return {key: dict(FIELD.findall(body)) for _, key, body in ENTRY.findall(bibliography)}


def can_be_found(fields):
    """Whether an entry has a DOI, an ISBN, or an address (for a preprint, that of arXiv with its id)."""
    return bool(
        re.fullmatch(r"10\.\d{4,}/\S+", fields.get("doi", ""))
        or re.fullmatch(r"97[89][\d-]{10,}", fields.get("isbn", ""))
        or re.fullmatch(r"https://arxiv\.org/abs/\d{4}\.\d{4,5}", fields.get("url", ""))
        or ("arxiv" not in fields.get("url", "").lower() and "url" in fields)
    )


def cites(text, key):
    return re.search(rf"(?<![\w.])@{re.escape(key)}(?![\w-])", text) is not None


def pages():
    chapters = yaml.safe_load((ROOT / "_quarto.yml").read_text(encoding="utf-8"))["book"]
    for entry in chapters["chapters"]:
        for name in entry["chapters"] if isinstance(entry, dict) else [entry]:
            yield ROOT / name


ENTRIES = entries((ROOT / "references.bib").read_text(encoding="utf-8"))
TEXT = "\n".join(page.read_text(encoding="utf-8") for page in pages())


def test_every_entry_was_read():
    source = (ROOT / "references.bib").read_text(encoding="utf-8")
    assert len(ENTRIES) == source.count("\n@") + source.startswith("@") > 30


def test_what_is_promised_is_there():
    assert ENTRIES.keys() >= PROMISED


@pytest.mark.parametrize("key", ENTRIES)
def test_every_entry_can_be_found_and_is_complete(key):
    assert can_be_found(ENTRIES[key]), f"{key} has no DOI, arXiv id, ISBN or address"
    assert ENTRIES[key].keys() >= {"author", "title", "year"}


@pytest.mark.parametrize("key", ENTRIES)
def test_every_entry_is_cited(key):
    assert cites(TEXT, key)


def test_each_check_can_fail():
    assert not can_be_found({"title": "A book"})
    assert not can_be_found({"doi": "to come"})
    assert not can_be_found({"url": "https://arxiv.org/abs/soon"})
    assert cites("see [@new2024, sec. 1]", "new2024")
    assert not cites("see @new2024b and a.b@new2024", "new2024")
