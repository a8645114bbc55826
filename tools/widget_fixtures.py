"""Writes what the tested Python says to ``tests/widgets/fixtures/``, for the widgets to be held against.

Two kinds of file: the recorded payload of each widget, rounded as the notebooks' bridge rounds it, and
``parity.json``, the values at full precision of every formula that a widget computes itself.

Run ``python tools/widget_fixtures.py`` after a change to specdec or here; ``tests/widgets/test_fixtures.py``
says when.
"""

import json
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from specdec.book.rules import accept_lab_case
from specdec.speculative import (
    best_gamma,
    demonstrate_speculative,
    expected_accepted_tokens,
    speculative_decode,
    speculative_speedup,
)

FIXTURES = Path(__file__).parents[1] / "tests" / "widgets" / "fixtures"


def main() -> None:
    for name, content in fixtures().items():
        text = json.dumps(content, allow_nan=False, separators=(",", ":"))
        (FIXTURES / name).write_text(text + "\n", encoding="utf-8")


def fixtures() -> dict[str, Any]:
    """File name → content of every fixture."""
    return {
        "round-stepper.json": _rounded(round_stepper_payload()),
        "accept-lab.json": _rounded(accept_lab_payload()),
        "speedup-explorer.json": _rounded(demonstrate_speculative()),
        "parity.json": parity_grid(),
    }


def round_stepper_payload() -> dict[str, Any]:
    """Recorded rounds, clean ones and ones that stop early, whose laws depend on the last token."""
    p = _float64([0.4, 0.25, 0.15, 0.1, 0.06, 0.04])
    q = _float64([0.2, 0.3, 0.2, 0.15, 0.05, 0.1])
    _, rounds = speculative_decode(
        [0],
        target_step=lambda tokens: p.roll(int(tokens[-1])),
        draft_step=lambda tokens: q.roll(int(tokens[-1])),
        gamma=4,
        max_new_tokens=12,
        generator=torch.Generator().manual_seed(28),
    )
    return {"labels": list("ABCDEF"), "rounds": rounds}


def accept_lab_payload() -> dict[str, Any]:
    """Pairs of target and draft, each with what the lab shows about it."""
    pairs = {
        "close": ([0.5, 0.3, 0.15, 0.05], [0.4, 0.4, 0.15, 0.05]),
        "skewed": ([0.2, 0.35, 0.3, 0.15], [0.55, 0.25, 0.1, 0.1]),
        "misses a token": ([0.4, 0.3, 0.2, 0.1], [0.6, 0.0, 0.3, 0.1]),
        "the same": ([0.4, 0.3, 0.2, 0.1], [0.4, 0.3, 0.2, 0.1]),
    }
    return {
        "labels": ["the", "cat", "sat", "on"],
        "presets": [{"name": name} | accept_lab_case(*map(_float64, pair)) for name, pair in pairs.items()],
    }


def parity_grid() -> dict[str, Any]:
    """Every formula that a widget computes, at arguments that include the edges."""
    alphas = [step / 20 for step in range(21)] + [0.001, 0.333, 0.999]
    costs, gammas = [0.0, 0.05, 0.1, 0.15, 0.4, 1.0], list(range(17))
    return {
        "pairs": [accept_lab_case(p, q) for p, q in _pairs()],
        "gammas": gammas,
        "tokens": [
            {"alpha": alpha, "values": [expected_accepted_tokens(alpha, gamma) for gamma in gammas]} for alpha in alphas
        ],
        "speedups": [
            {
                "alpha": alpha,
                "c": c,
                "values": [speculative_speedup(alpha, gamma, c) for gamma in gammas],
                "best_gamma": best_gamma(alpha, c, gammas[-1]),
            }
            for alpha in alphas
            for c in costs
        ],
    }


def _pairs() -> list[tuple[Tensor, Tensor]]:
    generator = torch.Generator().manual_seed(0)
    edges = [
        ([0.5, 0.3, 0.2], [0.2, 0.3, 0.5]),
        ([0.4, 0.3, 0.2, 0.1], [0.4, 0.3, 0.2, 0.1]),
        ([1.0, 0.0], [0.0, 1.0]),
        ([0.5, 0.5, 0.0], [0.0, 0.5, 0.5]),
        ([1.0, 0.0, 0.0], [0.2, 0.3, 0.5]),
    ]
    sizes = [2, 3, 4, 6] * 8
    drawn = [torch.rand(2, size, generator=generator, dtype=torch.float64) for size in sizes]
    return [(_float64(p), _float64(q)) for p, q in edges] + [(p / p.sum(), q / q.sum()) for p, q in drawn]


def _float64(values: list[float]) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def _rounded(value: Any) -> Any:
    """Round floats to six significant digits, as the bridge to the widgets does."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    return [_rounded(item) for item in value] if isinstance(value, list) else value


if __name__ == "__main__":
    main()
