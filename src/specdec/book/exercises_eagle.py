"""The exercises of the chapter on EAGLE."""

from specdec.book.exercises import Exercise

CHAIN_VERDICT = Exercise(
    name="what a wrong draft emits",
    hint="walk from the left while guess and target agree; the target's word at the place where you stop comes last.",
    cases=[
        (([5, 9, 0], [5, 9, 0, 14]), [5, 9, 0, 14]),
        (([5, 9, 0], [5, 4, 0, 14]), [5, 4]),
        (([1, 1, 1], [5, 1, 1, 1]), [5]),
        (([], [7]), [7]),
    ],
)

CHAIN_LENGTH = Exercise(
    name="best chain length",
    hint="a round with n links yields 1 and the first n rates, and costs n·c + 1; try every n, 0 too.",
    cases=[
        (([0.9, 0.8, 0.7, 0.6], 0.05), 4),
        (([0.9, 0.8, 0.7, 0.6], 0.45), 3),
        (([0.9, 0.8, 0.3, 0.1], 0.2), 2),
        (([0.3, 0.1, 0.0], 0.5), 0),
    ],
)

# A head as a table: HEAD[feature][token] is the next feature and the token read off it.
_HEAD = [
    [[0, 1], [0, 2], [1, 1]],
    [[0, 0], [0, 0], [1, 2]],
    [[1, 0], [0, 2], [2, 1]],
]

PINNED_CHAIN = Exercise(
    name="a chain with a pinned token",
    hint="two things are carried from link to link, feature and token; pinning replaces what is fed, not what is read.",
    cases=[
        ((_HEAD, 0, 0, 5, None), [1, 2, 1, 0, 1]),
        ((_HEAD, 0, 0, 5, 0), [1, 1, 1, 1, 1]),
        ((_HEAD, 2, 1, 4, None), [2, 1, 0, 1]),
        ((_HEAD, 2, 1, 4, 2), [1, 1, 1, 1]),
    ],
)
