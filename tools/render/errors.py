"""Problems in the book's sources: each says where it is, and a build reports all that it can find at once."""

from dataclasses import dataclass, field

import yaml


@dataclass(frozen=True)
class Place:
    """A place in a source: a file and, in a notebook, the cell (counted from 1), else perhaps a line."""

    file: str
    cell: int | None = None
    line: int | None = None

    def __str__(self) -> str:
        if self.cell is not None:
            return f"{self.file}, cell {self.cell}"
        return f"{self.file}, line {self.line}" if self.line is not None else self.file


class BuildError(Exception):
    """The book can't be built; `problems` holds one `place: message` line for each reason."""

    def __init__(self, problems: list[str]):
        self.problems = problems
        count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        super().__init__("\n".join([f"The book has {count}:", *(f"  {problem}" for problem in problems)]))


@dataclass
class Problems:
    """Collects problems, so that one build tells all of them and not only the first."""

    found: list[str] = field(default_factory=list)

    def add(self, place: Place | str, message: str) -> None:
        """Record `message` about `place`; the same problem is told once."""
        problem = f"{place}: {message}"
        if problem not in self.found:
            self.found.append(problem)

    def raise_if_any(self) -> None:
        """Raise `BuildError` with everything found so far, if anything was."""
        if self.found:
            raise BuildError(self.found)


def yaml_problem(error: yaml.YAMLError) -> str:
    """What a YAML parser complains about, in one line."""
    mark = getattr(error, "problem_mark", None)
    where = f" in its line {mark.line + 1}" if mark else ""
    return f"is not YAML{where}: {getattr(error, 'problem', None) or error}"
