"""The exercises of the chapter on SMC-SD."""

import math

import torch

from specdec.book.exercises import Exercise


def _probs(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


_CONTRACT = _probs(0.40, 0.25, 0.15, 0.08, 0.05, 0.03, 0.02, 0.02)
_PEAKED = _probs(0.79, *[0.03] * 7)
_FLAT = _probs(0.2, 0.2, *[0.1] * 6)

ESS = Exercise(
    name="effective sample size",
    hint="square the sum, divide by the sum of the squares; a common factor must not matter.",
    cases=[
        (([1.0, 1.0, 1.0, 1.0],), 4.0),
        (([10.0, 1.0, 1.0, 1.0],), 169 / 103),
        (([0.2, 0.0],), 1.0),
        (([3.0],), 1.0),
    ],
)

LOG_WEIGHTS = Exercise(
    name="weights from logs",
    hint="subtract the largest log first: a common factor cancels when the weights are normalised.",
    cases=[
        (([0.0, 0.0],), [0.5, 0.5]),
        (([0.0, math.log(3)],), [0.25, 0.75]),
        (([-2000.0, -2000.0, -2000.0 + math.log(2)],), [0.25, 0.25, 0.5]),
        (([800.0, 800.0],), [0.5, 0.5]),
        (([0.0, -math.inf],), [1.0, 0.0]),
    ],
)

TWO_PARTICLES = Exercise(
    name="two particles",
    hint="three cases: both drew token 0, both drew token 1, or one each; in the last, weigh them.",
    cases=[
        ((0.5, 0.75), 21 / 32),
        ((0.5, 0.5), 0.5),
        ((0.9, 0.6), 0.36 + 0.48 * (1.5 / 1.75)),
    ],
)

FIRST_FIRE = Exercise(
    name="when the resampler fires",
    hint="N / (1 + χ² of the block) stands for the ESS; when does it fall below N/2? A block's χ² is"
    " (1 + χ² of a token)^K − 1.",
    cases=[
        ((_CONTRACT, 2), 0.7),
        ((_PEAKED, 2), 0.5),
        ((_FLAT, 2), 0.0),
        ((_CONTRACT, 4), 0.5),
    ],
)
