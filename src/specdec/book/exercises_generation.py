"""The exercises of the chapter on generation."""

from specdec.book.exercises import Exercise

TOP_P = Exercise(
    name="top-p",
    hint="go through the tokens from the likeliest down; stop as soon as the mass kept so far suffices.",
    cases=[
        (([0.5, 0.3, 0.15, 0.05], 0.6), [0.625, 0.375, 0.0, 0.0]),
        (([0.05, 0.5, 0.15, 0.3], 0.6), [0.0, 0.625, 0.0, 0.375]),
        (([0.5, 0.3, 0.2], 0.1), [1.0, 0.0, 0.0]),
        (([0.5, 0.3, 0.2], 0.9), [0.5, 0.3, 0.2]),
    ],
)

INTENSITY = Exercise(
    name="arithmetic intensity",
    hint="two operations per weight, position and text; each weight is read once. Does the model's size matter?",
    cases=[
        ((8e9, 2, 1, 1), 1.0),
        ((70e9, 2, 1, 5), 5.0),
        ((8e9, 1, 4, 2), 16.0),
        ((1e6, 4, 1, 8), 4.0),
    ],
)

FREE = Exercise(
    name="free positions",
    hint="set the intensity of a pass over m positions per text equal to the ridge and solve for m.",
    cases=[((300, 2, 1), 300), ((300, 2, 8), 37), ((153, 1, 1), 76), ((206, 2, 300), 0)],
)
