"""The exercises of the chapter on lookahead."""

from specdec.book.exercises import Exercise

CERTAIN = Exercise(
    name="what is certain",
    hint="the first refined token is right anyway; how far do guess and refinement agree before they part?",
    cases=[
        (([1, 2, 3], [9, 2, 3]), 1),
        (([1, 2, 3], [1, 9, 3]), 2),
        (([1, 2, 3], [1, 2, 9]), 3),
        (([1, 2, 3], [1, 2, 3]), 3),
        (([4], [4]), 1),
    ],
)

CONSTANT = Exercise(
    name="passes on a constant stream",
    hint="the first pass makes one token certain; from the second on every guess in the block is right.",
    cases=[
        ((20, 5), 5),
        ((20, 1), 20),
        ((1, 4), 1),
        ((12, 3), 5),
        ((13, 3), 5),
        ((14, 3), 6),
    ],
)

CONTINUATION = Exercise(
    name="the pool's answer",
    hint="walk back from the end: where did the last token stand before, with n tokens after it?",
    cases=[
        (([3, 1, 2, 3], 2), [1, 2]),
        (([3, 1, 2, 3], 3), [1, 2, 3]),
        (([3, 1, 2, 3], 4), []),
        (([7, 1, 7, 2, 7], 1), [2]),
        (([7, 1, 7, 2, 7], 3), [1, 7, 2]),
        (([1, 2, 3], 1), []),
    ],
)

FIRST_WIN = Exercise(
    name="where the pool begins to pay",
    hint="run both for block sizes from 1 up and compare their passes; 0 is the answer if there is no such size.",
    cases=[((3,), 2), ((2,), 2), ((7,), 2), ((40,), 0)],
)
