"""Labels and their numbers, in Quarto's words: what `@fig-x` says and where it leads."""

from dataclasses import asdict, dataclass
from pathlib import PurePosixPath

# Prefix of a label → what a reference to it says.
WORDS = {
    "fig": "Figure",
    "tbl": "Table",
    "eq": "Equation",
    "sec": "Section",
    "thm": "Theorem",
    "lem": "Lemma",
    "cor": "Corollary",
    "prp": "Proposition",
    "cnj": "Conjecture",
    "def": "Definition",
    "exm": "Example",
    "exr": "Exercise",
    "nte": "Note",
    "tip": "Tip",
    "wrn": "Warning",
    "imp": "Important",
    "cau": "Caution",
}
THEOREMS = ("thm", "lem", "cor", "prp", "cnj", "def", "exm", "exr")
UNSUPPORTED = ("lst", "rem", "sol", "alg", "apx")


@dataclass(frozen=True)
class Label:
    """Something that can be referred to."""

    id: str
    word: str
    number: str
    page: str
    output: str
    place: str

    @property
    def text(self) -> str:
        return f"{self.word}\u00a0{self.number}"

    def href(self, from_page: PurePosixPath) -> str:
        """Link to the label from the page that is written to `from_page`."""
        if str(from_page) == self.output:
            return f"#{self.id}"
        return f"{'../' * (len(from_page.parts) - 1)}{self.output}#{self.id}"

    as_dict = asdict


def prefix_of(identifier: str) -> str | None:
    """`fig` for `fig-loss`; None if the identifier is no label."""
    prefix, hyphen, rest = identifier.partition("-")
    return prefix if hyphen and rest and prefix in WORDS else None


class Numbering:
    """Counts sections, figures and their kin within one chapter; an unnumbered chapter (None) has no prefix."""

    def __init__(self, chapter: int | None):
        self.chapter = chapter
        self.sections = [0] * 7
        self.counts: dict[str, int] = {}

    def section(self, level: int) -> str:
        """The number of the next heading of `level` (2 for `##`)."""
        self.sections[level] += 1
        self.sections[level + 1 :] = [0] * (len(self.sections) - level - 1)
        return ".".join(map(str, [self.chapter, *self.sections[2 : level + 1]]))

    def next(self, prefix: str) -> str:
        """The number of the next figure, table, …"""
        self.counts[prefix] = self.counts.get(prefix, 0) + 1
        count = str(self.counts[prefix])
        return count if self.chapter is None else f"{self.chapter}.{count}"
