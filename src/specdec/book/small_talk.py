"""Small sentences about animals, for a GPT that is trained in seconds and whose words one can read.

A sentence names an animal, says what it does and, mostly, where or how: "the old cat slept under the tree ." The
grammar draws each part given the one before it, so some words are nearly certain and others wide open.
"""

import torch

from specdec.book.vocabulary import Vocabulary
from specdec.checks import check_at_least

WORDS = (
    "the a old young small cat dog bird sat slept ran flew sang"
    " on under over quietly mat tree house garden then again ."
).split()
_VOCABULARY = Vocabulary(WORDS)
encode, decode = _VOCABULARY.encode, _VOCABULARY.decode

# Each state of the grammar: how it may go on, as (word, weight, next state).
_GRAMMAR: dict[str, list[tuple[str, float, str]]] = {
    "sentence": [("the", 6, "described"), ("a", 3, "described"), ("then", 2, "after then")],
    "after then": [("the", 3, "described"), ("a", 1, "described")],
    "described": [
        ("old", 2, "noun"),
        ("young", 1.5, "noun"),
        ("small", 1, "noun"),
        ("cat", 2.5, "cat"),
        ("dog", 2, "dog"),
        ("bird", 1.5, "bird"),
    ],
    "noun": [("cat", 2.5, "cat"), ("dog", 2, "dog"), ("bird", 1.5, "bird")],
    "cat": [("sat", 3, "rest"), ("slept", 3, "rest"), ("ran", 1, "move")],
    "dog": [("ran", 4, "move"), ("slept", 2, "rest"), ("sat", 1, "rest")],
    "bird": [("sang", 3, "sound"), ("flew", 4, "move"), ("sat", 1, "rest")],
    "rest": [
        ("on", 3, "place"),
        ("under", 2, "place"),
        ("quietly", 1, "end"),
        (".", 1, "sentence"),
    ],
    "move": [("over", 3, "place"), ("under", 1, "place"), (".", 1, "sentence")],
    "sound": [
        ("quietly", 2, "end"),
        ("again", 2, "end"),
        ("on", 1, "place"),
        (".", 1, "sentence"),
    ],
    "place": [("the", 5, "which place"), ("a", 1, "which place")],
    "which place": [
        ("mat", 2, "end"),
        ("tree", 2, "end"),
        ("house", 2, "end"),
        ("garden", 1, "end"),
    ],
    "end": [(".", 6, "sentence"), ("again", 1, "stop")],
    "stop": [(".", 1, "sentence")],
}


def write(n_words: int, generator: torch.Generator | None = None) -> torch.Tensor:
    """Write ``n_words`` words, beginning with a sentence: (n_words,) LongTensor of places in ``WORDS``."""
    check_at_least(n_words, 1, "n_words")
    state, tokens = "sentence", []
    for u in torch.rand(n_words, generator=generator, dtype=torch.float64).tolist():
        word, state = _choose(_GRAMMAR[state], u)
        tokens.append(WORDS.index(word))
    return torch.tensor(tokens)


def _choose(options: list[tuple[str, float, str]], u: float) -> tuple[str, str]:
    """The option into whose share of [0, 1) ``u`` falls."""
    left = u * sum(weight for _, weight, _ in options)
    for word, weight, following in options[:-1]:
        if left < weight:
            return word, following
        left -= weight
    word, _, following = options[-1]
    return word, following
