"""The exercises of the chapter on pitfalls."""

import torch

from specdec.book.exercises import Exercise


def _probs(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


LIKELIEST_LAW = Exercise(
    name="the law of a softmax in the wrong place",
    hint="only one token is ever guessed, and only if it fails does the residual get its turn.",
    cases=[
        ((_probs(0.3, 0.5, 0.2), _probs(0.4, 0.35, 0.25)), [0.75, 0.25, 0.0]),
        ((_probs(0.5, 0.3, 0.2), _probs(0.6, 0.3, 0.1)), [0.5 / 0.6, 0.0, 0.1 / 0.6]),
        ((_probs(0.2, 0.7, 0.1), _probs(0.3, 0.4, 0.3)), [0.0, 1.0, 0.0]),
    ],
)

COPIES = Exercise(
    name="n copies of one guess",
    hint="in the right rule a rejected guess takes all of its token's mass out of p; in the wrong one each copy "
    "tosses a coin of its own.",
    cases=[
        ((0.2, 1), [0.2, 0.2]),
        ((0.2, 2), [0.2, 0.36]),
        ((0.2, 5), [0.2, 0.67232]),
        ((0.5, 3), [0.5, 0.875]),
    ],
)

SECOND_LAW = Exercise(
    name="the law of the second guess",
    hint="the first guess can't come again; what is left must sum to one.",
    cases=[
        ((_probs(0.6, 0.3, 0.1), 0), [0.0, 0.75, 0.25]),
        ((_probs(0.6, 0.3, 0.1), 1), [0.6 / 0.7, 0.0, 0.1 / 0.7]),
        ((_probs(0.25, 0.25, 0.25, 0.25), 3), [1 / 3, 1 / 3, 1 / 3, 0.0]),
    ],
)

RATES = Exercise(
    name="three rates of one run",
    hint="a round examines its accepted guesses and, unless all were accepted, the one that failed; it emits one "
    "token more than it accepts.",
    cases=[
        (([4, 0, 2], 4), [0.5, 0.75, 3.0]),
        (([4, 4], 4), [1.0, 1.0, 5.0]),
        (([0, 0, 0], 2), [0.0, 0.0, 1.0]),
        (([1, 2, 0, 2], 3), [5 / 12, 5 / 9, 2.25]),
    ],
)
