"""The exercises of the summary."""

from specdec.book.exercises import Exercise

SPEED_UP = Exercise(
    name="one speed-up for all methods",
    hint="plain decoding writes one token in the time of one pass; divide the tokens of a round by what the "
    "round costs.",
    cases=[
        ((3.0, 1.0, 0, 0.1), 3.0),
        ((5.0, 1.25, 8, 0.05), 5.0 / 1.65),
        ((2.05, 1.0, 4, 0.15), 2.05 / 1.6),
        ((1.0, 1.0, 0, 0.5), 1.0),
    ],
)

FASTEST = Exercise(
    name="which one wins",
    hint="compute every method's speed-up, take the largest, and don't forget that plain decoding takes part.",
    cases=[
        (([(3.0, 1.0, 0, 0.1), (5.0, 1.25, 8, 0.05)],), 1),
        (([(3.0, 1.0, 0, 0.1), (5.0, 1.25, 8, 0.3)],), 0),
        (([(1.4, 1.0, 4, 0.2), (1.9, 2.0, 0, 0.0)],), -1),
        (([],), -1),
    ],
)

NEW_PAGES = Exercise(
    name="pages for a burst",
    hint="count the pages that hold the text before the round and after it; a page begun is a page taken.",
    cases=[
        ((30, 1, 16), 0),
        ((30, 5, 16), 1),
        ((32, 1, 16), 1),
        ((31, 9, 4), 2),
        ((0, 3, 1), 3),
    ],
)
