"""The exercises of the chapter on Medusa."""

import torch

from specdec.book.exercises import Exercise

TREE_SIZE = Exercise(
    name="size of a full tree",
    hint="level d has as many nodes as there are ways to choose one candidate on each of the levels 1 to d.",
    cases=[
        (([1, 1, 1],), 3),
        (([2, 2, 2],), 14),
        (([3, 3, 3, 3],), 120),
        (([1, 10, 10, 10],), 1111),
        (([],), 0),
    ],
)

ANCESTORS = Exercise(
    name="who sees whom",
    hint="a node sees what its parent sees, and itself.",
    cases=[
        (([-1, 0, 1],), [[1, 0, 0], [1, 1, 0], [1, 1, 1]]),
        (([-1, -1, 0, 1],), [[1, 0, 0, 0], [0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1]]),
    ],
)

LAST_HEAD = Exercise(
    name="what the last head adds",
    hint="it adds a token if it is right and all heads before it are: multiply their probabilities.",
    cases=[
        ((0.7, 1), 0.7),
        ((0.7, 2), 0.343),
        ((0.7, 4), 0.7**10),
        ((0.7, 5), 0.7**15),
        ((0.9, 3), 0.9**6),
    ],
)

TYPICAL_LAW = Exercise(
    name="the law of typical acceptance",
    hint="a token comes out as a guess that was kept, or because an untypical guess made room for a draw from p.",
    cases=[
        (
            (
                torch.tensor([0.5, 0.3, 0.2]).double(),
                torch.tensor([0.2, 0.3, 0.5]).double(),
                0.25,
            ),
            [0.45, 0.45, 0.1],
        ),
        (
            (
                torch.tensor([0.5, 0.3, 0.2]).double(),
                torch.tensor([0.2, 0.3, 0.5]).double(),
                0.6,
            ),
            [0.5, 0.3, 0.2],
        ),
        (
            (
                torch.tensor([0.5, 0.3, 0.2]).double(),
                torch.tensor([0.2, 0.3, 0.5]).double(),
                0.0,
            ),
            [0.2, 0.3, 0.5],
        ),
    ],
)
