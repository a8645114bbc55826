"""The exercises of the chapter on the transformer."""

from specdec.book.exercises import Exercise

CAUSAL_ROWS = Exercise(
    name="causal mask",
    hint="new token number r (from 0) stands at place past + r; which columns lie at or before that place?",
    cases=[
        ((1, 0), [[1]]),
        ((3, 0), [[1, 0, 0], [1, 1, 0], [1, 1, 1]]),
        ((2, 2), [[1, 1, 1, 0], [1, 1, 1, 1]]),
    ],
)

TREE_ROWS = Exercise(
    name="tree mask",
    hint="a node sees all that its parent sees, and itself; parents come before their children.",
    cases=[
        (([-1],), [[1]]),
        (([-1, -1, 0],), [[1, 0, 0], [0, 1, 0], [1, 0, 1]]),
        (
            ([-1, -1, 0, 0, 1],),
            [
                [1, 0, 0, 0, 0],
                [0, 1, 0, 0, 0],
                [1, 0, 1, 0, 0],
                [1, 0, 0, 1, 0],
                [0, 1, 0, 0, 1],
            ],
        ),
    ],
)

CACHE_SIZE = Exercise(
    name="cache length",
    hint="count the committed tokens that the model has been fed; has it been fed the one that was added last?",
    cases=[((5, 4, 2), 8), ((5, 4, 4), 10), ((5, 4, 0), 6), ((0, 1, 1), 2)],
)
