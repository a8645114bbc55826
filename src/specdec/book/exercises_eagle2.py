"""The exercises of the chapter on EAGLE-2."""

from specdec.book.exercises import Exercise

NODE_VALUES = Exercise(
    name="node values",
    hint="a node is worth its parent's value times its own confidence; parents come first; the root is worth 1.",
    cases=[
        (([-1, -1, 0, 0], [0.7, 0.4, 0.6, 0.3]), [0.7, 0.4, 0.42, 0.21]),
        (([-1, 0, 1], [0.5, 1.0, 0.9]), [0.5, 0.5, 0.45]),
        (([-1, -1, 1, 2, 0], [0.6, 0.1, 0.9, 0.9, 0.5]), [0.6, 0.1, 0.09, 0.081, 0.3]),
    ],
)

TOP_NODES = Exercise(
    name="the best m nodes",
    hint="sort by falling value, then by depth, then by number; take m; give their numbers in ascending order.",
    cases=[
        (([0.7, 0.4, 0.42, 0.21, 0.24], [1, 1, 2, 2, 2], 3), [0, 1, 2]),
        (([0.7, 0.4, 0.42, 0.21, 0.24], [1, 1, 2, 2, 2], 4), [0, 1, 2, 4]),
        (([0.5, 0.5, 0.5, 0.5], [1, 1, 2, 2], 1), [0]),
        (([0.2, 0.5, 0.5, 0.2], [1, 1, 2, 2], 3), [0, 1, 2]),
    ],
)

BY_CONFIDENCE = Exercise(
    name="ranking by raw confidence",
    hint="the same as before with the confidences in place of the values: this is the wrong rule, on purpose.",
    cases=[
        (([0.6, 0.1, 0.5, 0.9], 2), [0, 3]),
        (([0.9, 0.2, 0.3, 0.8], 2), [0, 3]),
        (([0.4, 0.3, 0.9, 0.9], 2), [2, 3]),
    ],
)

LATEST_FIRST = Exercise(
    name="a tie-break that breaks the tree",
    hint="of equal values this wrong rule takes the node with the larger number first.",
    cases=[
        (([0.5, 0.5, 0.5], 1), [2]),
        (([0.5, 0.5, 0.5], 2), [1, 2]),
        (([0.6, 0.4, 0.6, 0.4], 3), [0, 2, 3]),
    ],
)
