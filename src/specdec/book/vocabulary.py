"""Between texts that one can read and the token ids that a model reads."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Vocabulary:
    """Whole words; a word's place in ``words`` is its token id."""

    words: Sequence[str]

    def encode(self, text: str) -> list[int]:
        """Token ids of a text whose words are separated by blanks.

        Raises:
            ValueError: a word is not among ``words``.
        """
        unknown = [word for word in text.split() if word not in self.words]
        if unknown:
            raise ValueError(
                f"text must consist of the words {self.words}, got {unknown[0]!r}"
            )
        return [self.words.index(word) for word in text.split()]

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of ``tokens``, words separated by blanks."""
        return " ".join(self.words[token] for token in tokens)
