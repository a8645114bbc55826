"""A small language with certain and uncertain places, and the target that the self-drafting chapters share.

    target = trained_target(seed=0, progress="training the target")
    target.model        # the book's GPT, float64, trained on target.training_text
    target.held_out     # (12 000,) text that it never saw
    contexts = held_out_windows(target.held_out, count=400, length=20)

The language has 16 symbols: 15 letters and a separator. Its eight words have two to four letters, and a separator
follows each. Which word comes next is drawn given the *two* words before it, among three that may follow. So inside a
word nearly everything is certain, and where a word starts it is not: a drafter must be right about the second kind of
place to go on, and has to know which word was chosen.

A seed gives a language, its texts and the target's initial weights; all is portable between CPUs.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from specdec.checks import check_at_least
from specdec.training import draw_windows, next_token_loss, train
from specdec.transformer import GPTModel

SEPARATOR = 15
VOCAB_SIZE = 16
SYMBOLS = "abcdefghijklmno·"

_N_WORDS = 8
_N_SUCCESSORS = 3


@dataclass(frozen=True)
class Language:
    """Words, and the law of the next word given the last two."""

    words: list[list[int]]  # eight, each with its separator
    word_law: Tensor  # (8, 8, 8) float64: [before, last, next]; three successors each

    @property
    def entropy_rate(self) -> float:
        """Nats a symbol that no model can save: the entropy of a word choice over the mean length of a word."""
        pairs = self._stationary_pairs()  # (8, 8)
        choice = -torch.xlogy(self.word_law, self.word_law).sum(dim=2)  # (8, 8)
        lengths = torch.tensor([len(word) for word in self.words], dtype=torch.float64)
        return ((pairs * choice).sum() / (pairs.sum(dim=0) * lengths).sum()).item()

    def sample(self, n_symbols: int, generator: torch.Generator | None = None) -> Tensor:
        """Write ``n_symbols`` symbols, beginning with a word: (n_symbols,) LongTensor."""
        check_at_least(n_symbols, 1, "n_symbols")
        draws = torch.rand(n_symbols, generator=generator, dtype=torch.float64).tolist()
        reached = self.word_law.cumsum(dim=2).tolist()
        before, last, symbols = 0, 0, []
        for u in draws:
            if len(symbols) >= n_symbols:
                break
            row = reached[before][last]
            chosen = next((word for word in range(_N_WORDS) if u < row[word]), _N_WORDS - 1)
            before, last = last, chosen
            symbols += self.words[chosen]
        return torch.tensor(symbols[:n_symbols])

    def _stationary_pairs(self) -> Tensor:
        """How often each pair of neighbouring words stands in a long text: (8, 8)."""
        pairs = torch.full((_N_WORDS, _N_WORDS), 1 / _N_WORDS**2, dtype=torch.float64)
        for _ in range(
            500
        ):  # averaged with itself, so that a language with a period settles too
            pairs = (pairs + (pairs[:, :, None] * self.word_law).sum(dim=0)) / 2
        return pairs


@dataclass(frozen=True)
class TrainedTarget:
    """A language, a GPT trained on it, and text that the GPT was and wasn't shown."""

    language: Language
    model: GPTModel  # float64, in eval mode, its parameters frozen
    training_text: Tensor  # (60 000,)
    held_out: Tensor  # (12 000,)
    losses: list[float]  # one a step, nats a symbol
    held_out_loss: float  # nats a symbol


def trained_target(
    seed: int = 0, steps: int = 900, progress: str | None = None
) -> TrainedTarget:
    """Make language number ``seed`` and train the shared target on it.

    The target has 32 dimensions, 2 layers, 4 heads and 40 positions; training takes about ten seconds.

    Args:
        seed: chooses the language, its texts and the initial weights.
        steps: of training; fewer make a weaker target, for tests.
        progress: the words before the progress bar; None shows none.
    """
    generator = torch.Generator().manual_seed(seed)
    language = draw_language(generator)
    training_text = language.sample(60_000, generator)
    held_out = language.sample(12_000, generator)
    model = GPTModel(VOCAB_SIZE, 32, 4, 2, max_seq_len=40, generator=generator).double()

    def loss() -> Tensor:
        return next_token_loss(model, draw_windows(training_text, 12, 41, generator))

    losses = train(loss, model.parameters(), steps, 1.5e-2, progress=progress)
    model.eval().requires_grad_(False)
    held_out_loss = next_token_loss(model, held_out_windows(held_out, 200, 41)).item()
    return TrainedTarget(language, model, training_text, held_out, losses, held_out_loss)


def draw_language(generator: torch.Generator | None = None) -> Language:
    """Draw eight different words, and for each pair of words three successors with Dirichlet(2, 2, 2) weights."""
    words: list[list[int]] = []
    while len(words) < _N_WORDS:
        length = int(torch.randint(2, 5, (1,), generator=generator))
        letters = torch.randint(SEPARATOR, (length,), generator=generator).tolist()
        if [*letters, SEPARATOR] not in words:
            words.append([*letters, SEPARATOR])
    law = torch.zeros(_N_WORDS, _N_WORDS, _N_WORDS, dtype=torch.float64)
    for before in range(_N_WORDS):
        for last in range(_N_WORDS):
            order = torch.rand(_N_WORDS, generator=generator, dtype=torch.float64).argsort()
            law[before, last, order[:_N_SUCCESSORS]] = _dirichlet_two(generator)
    return Language(words, law)


def held_out_windows(text: Tensor, count: int, length: int) -> Tensor:
    """``count`` windows spread evenly over a text (N,): (count, length). No draw, so everyone sees the same.

    Raises:
        ValueError: the text is shorter than a window, or ``count`` or ``length`` is below 1.
    """
    check_at_least(count, 1, "count")
    check_at_least(length, 1, "length")
    if len(text) < length:
        raise ValueError(f"text must have at least {length} symbols, got {len(text)}")
    starts = [number * (len(text) - length) // max(1, count - 1) for number in range(count)]
    return torch.stack([text[start : start + length] for start in starts])


def spell(symbols: Tensor | list[int]) -> str:
    """Symbols as letters, the separator as a middle dot."""
    return "".join(SYMBOLS[int(symbol)] for symbol in symbols)


def _dirichlet_two(generator: torch.Generator | None) -> Tensor:
    """A draw from Dirichlet(2, 2, 2): three sums of two exponentials, normalised."""
    uniforms = torch.rand(_N_SUCCESSORS, 2, generator=generator, dtype=torch.float64)
    gammas = -torch.log1p(-uniforms).sum(dim=1)
    return gammas / gammas.sum()
