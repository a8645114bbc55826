"""Exercises that answer: right, or not yet with a hint.

An exercise holds cases (arguments and the value expected of them) and says of an attempt whether every case comes
out. The reader's stub runs and is told "not yet"; the solution in the chapter passes the same check.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import Any

import torch


@dataclass(frozen=True)
class Exercise:
    """One task: its name, the cases an attempt must meet, and a hint that gives no solution away."""

    name: str
    hint: str
    cases: Sequence[tuple[tuple[Any, ...], Any]]

    def passes(self, attempt: Callable[..., Any]) -> bool:
        """Whether ``attempt`` gives the expected value in every case."""
        return self._first_miss(attempt) is None

    def check(self, attempt: Callable[..., Any]) -> None:
        """Print whether ``attempt`` is right; if not, on which arguments it missed, and the hint."""
        miss = self._first_miss(attempt)
        if miss is None:
            print(f"✓ {self.name}: right, on all {len(self.cases)} cases.")
        else:
            print(fill(f"✗ {self.name}: not yet. {miss}", width=80, subsequent_indent="  "))
            print(
                fill(
                    f"Hint: {self.hint}",
                    width=80,
                    initial_indent="  ",
                    subsequent_indent="  ",
                )
            )

    def _first_miss(self, attempt: Callable[..., Any]) -> str | None:
        for arguments, expected in self.cases:
            shown = ", ".join(_short(argument) for argument in arguments)
            try:
                got = attempt(*arguments)
            except (
                Exception
            ) as error:  # whatever a reader's attempt raises is an answer to report
                return f"With ({shown}) it raised {type(error).__name__}: {error}"
            if not _close(got, expected):
                return f"With ({shown}) it returned {_short(got)}."
        return None


def _close(got: Any, expected: Any) -> bool:
    """Equal up to 1e-6, number by number; of the same shape."""
    if isinstance(got, torch.Tensor):
        got = got.tolist()
    if isinstance(expected, list):
        return (
            isinstance(got, list | tuple)
            and len(got) == len(expected)
            and all(map(_close, got, expected))
        )
    if isinstance(got, bool) or not isinstance(got, int | float):
        return False
    return math.isclose(got, expected, rel_tol=1e-6, abs_tol=1e-6)


def _short(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        value = value.tolist()
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_short(item) for item in value) + "]"
    return repr(value)


def _probs(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


ALPHA = Exercise(
    name="acceptance rate",
    hint="add up, over the vocabulary, what p and q have in common; or take the distance between them from 1.",
    cases=[
        ((_probs(0.5, 0.3, 0.2), _probs(0.45, 0.35, 0.20)), 0.95),
        ((_probs(0.5, 0.3, 0.2), _probs(0.1, 0.1, 0.8)), 0.40),
        ((_probs(1.0, 0.0), _probs(0.0, 1.0)), 0.0),
    ],
)

BEST_GAMMA = Exercise(
    name="best γ",
    hint="compute the speed-up for every γ from 0 to 16 and keep the γ of the largest; 0 is a legal answer.",
    cases=[
        ((0.85, 0.05), 10),
        ((0.85, 0.15), 6),
        ((0.85, 0.4), 3),
        ((0.4, 0.1), 2),
        ((0.2, 0.3), 0),
    ],
)

OUTPUT_LAW = Exercise(
    name="output law",
    hint="a token x comes out in two ways: drafted and accepted, or as the correction after some rejection.",
    cases=[
        ((_probs(0.5, 0.2, 0.2, 0.1), _probs(0.2, 0.4, 0.3, 0.1)), [0.5, 0.2, 0.2, 0.1]),
        ((_probs(0.5, 0.3, 0.2), _probs(0.2, 0.3, 0.5)), [0.5, 0.3, 0.2]),
    ],
)

WRONG_LAW = Exercise(
    name="the law of the wrong rule",
    hint="the accepted part stays min(p, q); what is rejected, 1 − α in all, is now handed out by p itself.",
    cases=[
        ((_probs(0.5, 0.3, 0.2), _probs(0.2, 0.3, 0.5)), [0.35, 0.39, 0.26]),
        (
            (_probs(0.5, 0.2, 0.2, 0.1), _probs(0.2, 0.4, 0.3, 0.1)),
            [0.35, 0.26, 0.26, 0.13],
        ),
    ],
)
