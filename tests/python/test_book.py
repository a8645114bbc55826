"""What the chapters lean on: the bridge to the page, tables, listings, figures and exercise checks."""

import json
import re

import pytest
import torch

from specdec.book import bridge, exercises, source, tables
from specdec.book.exercises import ALPHA, BEST_GAMMA, OUTPUT_LAW, WRONG_LAW
from specdec.speculative import acceptance_rate, best_gamma, residual_distribution


@pytest.fixture
def shown(monkeypatch):
    """The outputs that a cell would have, as (data, metadata)."""
    outputs = []
    for module in (bridge, source, tables):
        monkeypatch.setattr(
            module,
            "display",
            lambda data, raw=False, metadata=None: outputs.append((data, metadata)),
        )
    return outputs


def _bridged(shown, **values):
    bridge.ojs_define(**values)
    [(data, metadata)] = shown
    assert metadata == {"ojs_define": True} and list(data) == ["text/html"]
    payload = re.fullmatch(
        r'<script type="ojs-define">(.*)</script>', data["text/html"]
    ).group(1)
    assert "</" not in payload and "<!--" not in payload
    return {entry["name"]: entry["value"] for entry in json.loads(payload)["contents"]}


def test_values_arrive(shown):
    values = {
        "number": 1.23456789,
        "tiny": 1.23456789e-9,
        "count": 3,
        "flag": True,
        "missing": None,
        "nested": {
            "a": [1.5, (2, "x")],
            "b": torch.tensor([[0.1, 0.2]], dtype=torch.float64),
        },
        "ids": torch.tensor([1, 2]),
    }
    assert _bridged(shown, **values) == {
        "number": 1.23457,
        "tiny": 1.23457e-9,
        "count": 3,
        "flag": True,
        "missing": None,
        "nested": {"a": [1.5, [2, "x"]], "b": [[0.1, 0.2]]},
        "ids": [1, 2],
    }


def test_a_string_that_would_end_the_script_arrives_whole(shown):
    text = "</script><!-- <script> \u2028 é"
    assert _bridged(shown, text=text) == {"text": text}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (float("nan"), "^value is nan; only finite"),
        ([0.0, float("inf")], r"^value\[1\] is inf"),
        ({"rows": [[1.0, -float("inf")]]}, r"^value\.rows\[0\]\[1\] is -inf"),
        (torch.tensor([1.0, float("nan")], dtype=torch.float64), r"^value\[1\] is nan"),
        (torch.tensor([1.0]), r"^value is a torch\.float32 tensor; compute in float64"),
        ({1: 2}, r"^value has the key 1; keys must be strings"),
        ({1, 2}, "^value is a set; allowed are"),
        (2**60, r"^value is \d+; whole numbers beyond"),
        (torch.tensor([1j], dtype=torch.complex128), "^value is a torch.complex128 tensor"),
    ],
)
def test_what_the_page_cannot_hold_is_refused(value, message, shown):
    with pytest.raises(ValueError, match=message):
        bridge.ojs_define(value=value)
    assert not shown


def test_nothing_to_define_is_an_error():
    with pytest.raises(ValueError, match="at least one"):
        bridge.ojs_define()


def test_table(shown):
    tables.show_table(["rule", "a"], [["right", 0.5], ["wrong", 1]])
    assert shown[0][0].data == "| rule | a |\n| :-- | --: |\n| right | 0.5 |\n| wrong | 1 |"
    with pytest.raises(ValueError, match="each row needs 2 cells, got 1"):
        tables.show_table(["rule", "a"], [["right"]])


def test_listing_is_the_code_itself(shown):
    source.show_source(acceptance_rate)
    assert shown[0][0].data.splitlines() == [
        "```python",
        "def acceptance_rate(p: Tensor, q: Tensor) -> float:",
        '    """α = Σ min(p, q) = 1 − TV(p, q): how likely a token drawn from ``q`` is accepted against ``p``."""',
        "    _check_pair(p, q)",
        "    return torch.minimum(p, q).sum().item()",
        "```",
    ]


def _law(p, q):
    return torch.minimum(p, q) + (1 - acceptance_rate(p, q)) * residual_distribution(p, q)


def _wrong_law(p, q):
    return torch.minimum(p, q) + (1 - acceptance_rate(p, q)) * p


SOLUTIONS = [
    (ALPHA, acceptance_rate),
    (BEST_GAMMA, best_gamma),
    (OUTPUT_LAW, _law),
    (WRONG_LAW, _wrong_law),
]


def test_every_exercise_has_a_solution_here():
    defined = {
        value.name
        for value in vars(exercises).values()
        if isinstance(value, exercises.Exercise)
    }
    assert defined == {exercise.name for exercise, _ in SOLUTIONS}


@pytest.mark.parametrize(("exercise", "solution"), SOLUTIONS)
def test_solutions_pass_and_wrong_attempts_do_not(exercise, solution, capsys):
    assert exercise.passes(solution)
    for wrong in (
        lambda *_: None,
        lambda *_: 0,
        lambda *_: [0.0],
        lambda *_: True,
        lambda *_: torch.zeros(3),
    ):
        assert not exercise.passes(wrong)
    exercise.check(solution)
    assert (
        capsys.readouterr().out
        == f"✓ {exercise.name}: right, on all {len(exercise.cases)} cases.\n"
    )
    exercise.check(lambda *_: None)
    assert f"✗ {exercise.name}: not yet." in capsys.readouterr().out


def test_an_attempt_that_raises_is_told_so(capsys):
    ALPHA.check(lambda p, q: 1 / 0)
    assert "it raised ZeroDivisionError" in " ".join(capsys.readouterr().out.split())


def test_the_wrong_rule_does_not_pass_for_the_right_one():
    assert not OUTPUT_LAW.passes(_wrong_law) and not WRONG_LAW.passes(_law)
