"""In every chapter each exercise has a stub that is told "not yet" and a solution that is right.

The notebook is the one source of stub and solution, ``specdec.book.exercises*`` that of the check. Both are run here,
by themselves; that the stored outputs are what the cells print, nbval holds against a run of the whole notebook.
"""

import ast
import importlib
import json
import pkgutil
import re
from pathlib import Path
from typing import NamedTuple

import pytest

from specdec import book
from specdec.book.exercises import Exercise

CHAPTERS = sorted((Path(__file__).parents[2] / "chapters").glob("*.ipynb"))
CHECK = re.compile(r"^([A-Z_]+)\.check\((\w+)\)", re.MULTILINE)
STUB, SOLUTION = "# your turn", '#| code-summary: "Solution"'


class Attempt(NamedTuple):
    """A cell that checks an attempt at an exercise."""

    exercise: str
    function: str
    source: str
    printed: str


def _cells(path: Path, kind: str) -> list[dict]:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == kind]


def _attempts(path: Path, mark: str) -> list[Attempt]:
    """The cells that hold ``mark``, each with the one check that it makes."""
    attempts = []
    for cell in _cells(path, "code"):
        source = "".join(cell["source"])
        if mark in source:
            [(exercise, function)] = CHECK.findall(source)
            printed = "".join("".join(out.get("text", "")) for out in cell["outputs"])
            attempts.append(Attempt(exercise, function, source, printed))
    return attempts


def _namespace(path: Path) -> dict:
    """What the attempts can call: what the notebook imports, and what its stubs and solutions define.

    No other cell is run, so a solution has to stand by itself, or on solutions before it.
    """
    wanted = [
        statement
        for cell in _cells(path, "code")
        for statement in ast.parse("".join(cell["source"])).body
        if isinstance(statement, ast.Import | ast.ImportFrom)
    ]
    for attempt in [*_attempts(path, STUB), *_attempts(path, SOLUTION)]:
        body = ast.parse(attempt.source).body
        wanted += [
            statement for statement in body if isinstance(statement, ast.FunctionDef)
        ]
    namespace: dict = {}
    exec(compile(ast.Module(wanted, type_ignores=[]), path.name, "exec"), namespace)
    return namespace


def _all_exercises() -> dict[int, str]:
    """Every exercise that a module of the book defines, by identity."""
    names = [module.name for module in pkgutil.iter_modules(book.__path__)]
    return {
        id(value): f"{name}.{variable}"
        for name in names
        if name.startswith("exercises")
        for variable, value in vars(importlib.import_module(f"specdec.book.{name}")).items()
        if isinstance(value, Exercise)
    }


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_every_exercise_has_a_text_a_stub_and_a_solution(path):
    text = "\n".join("".join(cell["source"]) for cell in _cells(path, "markdown"))
    stubs, solutions = _attempts(path, STUB), _attempts(path, SOLUTION)
    assert len(stubs) >= 3
    assert len(re.findall(r"\{#exr-[\w-]+\}", text)) == len(stubs)
    assert [a.exercise for a in stubs] == [a.exercise for a in solutions]
    assert len({a.exercise for a in stubs}) == len(stubs)


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_solutions_pass_their_checks_and_stubs_fail_them(path):
    namespace = _namespace(path)
    for stub, solution in zip(
        _attempts(path, STUB), _attempts(path, SOLUTION), strict=True
    ):
        exercise = namespace[stub.exercise]
        assert exercise.passes(namespace[solution.function]), solution.function
        assert not exercise.passes(namespace[stub.function]), stub.function


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_the_stored_outputs_say_so(path):
    for stub in _attempts(path, STUB):
        assert stub.printed.startswith("✗") and "Hint:" in stub.printed
        assert "✓" not in stub.printed
    for solution in _attempts(path, SOLUTION):
        assert solution.printed.startswith("✓") and "✗" not in solution.printed


def test_every_exercise_is_set_in_just_one_chapter():
    set_there = [
        id(namespace[stub.exercise])
        for path in CHAPTERS
        for namespace in [_namespace(path)]
        for stub in _attempts(path, STUB)
    ]
    defined = _all_exercises()
    assert len(set(set_there)) == len(set_there)
    unset = [name for identity, name in defined.items() if identity not in set_there]
    assert unset == [] and len(defined) == len(set_there)


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_no_hint_gives_its_solution_away(path):
    namespace = _namespace(path)
    for solution in _attempts(path, SOLUTION):
        hint = re.sub(r"\s", "", namespace[solution.exercise].hint)
        for statement in ast.walk(ast.parse(solution.source)):
            if isinstance(statement, ast.Return) and statement.value is not None:
                code = re.sub(r"\s", "", ast.unparse(statement.value))
                assert len(code) < 8 or code not in hint
