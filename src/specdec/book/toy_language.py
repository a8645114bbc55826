"""A language of six words for chapters to follow by eye: a target that knows who does what, a draft that doesn't.

Both look at the last word only. The draft has the grammar right (a noun follows "the", a verb follows a noun) and
takes cats and dogs for the same.
"""

import torch
from torch import Tensor

from specdec.book.vocabulary import Vocabulary
from specdec.distributions import StepFunction

WORDS = ["the", "cat", "dog", "sat", "ran", "."]
_VOCABULARY = Vocabulary(WORDS)
encode, decode = _VOCABULARY.encode, _VOCABULARY.decode

_TARGET = {
    "the": [0.01, 0.50, 0.45, 0.01, 0.01, 0.02],
    "cat": [0.02, 0.01, 0.01, 0.66, 0.20, 0.10],
    "dog": [0.02, 0.01, 0.01, 0.18, 0.68, 0.10],
    "sat": [0.34, 0.01, 0.01, 0.02, 0.02, 0.60],
    "ran": [0.26, 0.01, 0.01, 0.02, 0.02, 0.68],
    ".": [0.90, 0.04, 0.03, 0.01, 0.01, 0.01],
}
_DRAFT = {
    "the": [0.02, 0.46, 0.46, 0.02, 0.02, 0.02],
    "cat": [0.04, 0.02, 0.02, 0.40, 0.46, 0.06],
    "dog": [0.04, 0.02, 0.02, 0.40, 0.46, 0.06],
    "sat": [0.40, 0.02, 0.02, 0.04, 0.04, 0.48],
    "ran": [0.40, 0.02, 0.02, 0.04, 0.04, 0.48],
    ".": [0.70, 0.10, 0.10, 0.03, 0.03, 0.04],
}


def _step(table: dict[str, list[float]]) -> StepFunction:
    rows = torch.tensor(
        [table[word] for word in WORDS], dtype=torch.float64
    )  # (V, V), by the last word

    def step(tokens: Tensor) -> Tensor:
        return rows[tokens[-1]]

    return step


target_step = _step(_TARGET)
draft_step = _step(_DRAFT)
