"""The shared training loop and the stochastic language: what they promise, and that their checks can fail."""

import math

import pytest
import torch
from conftest import seeded
from torch import nn

from specdec.book.stochastic_language import (
    SEPARATOR,
    VOCAB_SIZE,
    Language,
    draw_language,
    held_out_windows,
    spell,
    trained_target,
)
from specdec.training import (
    draw_windows,
    language_model_loss,
    learning_rate_factor,
    next_token_loss,
    train,
)
from specdec.transformer import GPTModel


class TestLearningRate:
    def test_rises_in_a_line_and_falls_along_a_cosine(self):
        factors = [learning_rate_factor(step, 450, warm_up=50) for step in range(450)]
        assert factors[:50] == pytest.approx([(step + 1) / 50 for step in range(50)])
        assert factors[50] == 1.0
        assert factors[50 + 399 // 2] == pytest.approx(0.525, abs=0.01)
        assert factors[-1] == pytest.approx(0.05)
        assert all(
            later <= earlier
            for earlier, later in zip(factors[49:], factors[50:], strict=False)
        )

    @pytest.mark.parametrize("steps", [1, 2, 3, 10])
    def test_short_runs_stay_within_bounds(self, steps):
        factors = [learning_rate_factor(step, steps) for step in range(steps)]
        assert all(0 < factor <= 1 for factor in factors)
        assert max(factors) == 1.0


class TestTrain:
    def test_a_first_step_by_hand(self):
        """AdamW's first step moves by the learning rate against the gradient's sign, plus the decay."""
        weight = nn.Parameter(torch.tensor([2.0, -3.0], dtype=torch.float64))
        losses = train(lambda: (weight * torch.tensor([1.0, -0.5])).sum(), [weight], 1, 0.1)
        assert losses == [3.5]
        expected = torch.tensor([2.0, -3.0]).double() * (1 - 0.1 * 0.01) - torch.tensor(
            [0.1, -0.1]
        )
        assert torch.allclose(weight, expected, atol=1e-6)
        assert weight.grad is None

    def test_only_what_is_named_is_trained(self):
        frozen, trained = nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(3))
        train(lambda: (frozen * trained).square().sum(), [trained], 5)
        assert torch.equal(frozen, torch.ones(3)) and frozen.grad is None
        assert not torch.equal(trained, torch.ones(3))

    def test_gradients_are_clipped(self, monkeypatch):
        norms = []
        step = torch.optim.AdamW.step

        def spying(optimiser):
            grads = [
                parameter.grad
                for group in optimiser.param_groups
                for parameter in group["params"]
            ]
            norms.append(torch.cat([grad.flatten() for grad in grads]).norm().item())
            return step(optimiser)

        monkeypatch.setattr(torch.optim.AdamW, "step", spying)
        weight = nn.Parameter(torch.ones(4, dtype=torch.float64))
        train(lambda: (1000 * weight).sum(), [weight], 2)
        assert norms == pytest.approx([1.0, 1.0], abs=1e-6)

    def test_the_same_seed_gives_the_same_weights(self):
        def run(seed):
            generator = seeded(seed)
            model = GPTModel(5, 8, 2, 1, 8, generator=generator).double()
            text = torch.arange(40) % 5
            losses = train(
                lambda: next_token_loss(model, draw_windows(text, 4, 9, generator)),
                model.parameters(),
                30,
                1e-2,
            )
            return losses

        assert run(0) == run(0) != run(1)
        assert run(0)[-1] < 0.5 * run(0)[0]

    def test_the_progress_bar_leaves_nothing_behind(self, capsys):
        weight = nn.Parameter(torch.ones(1))
        train(lambda: weight.square().sum(), [weight], 3, progress="training")
        shown = capsys.readouterr()
        assert "training" in shown.out and shown.err == ""
        assert shown.out.endswith("\r") and not shown.out.split("\r")[-2].strip()

    def test_a_loss_that_is_not_finite_is_an_error(self):
        weight = nn.Parameter(torch.zeros(1))
        with pytest.raises(ValueError, match="finite"):
            train(lambda: (weight / 0).sum(), [weight], 1)

    @pytest.mark.parametrize(
        "bad", [{"steps": 0}, {"learning_rate": -1.0}, {"warm_up": -1}]
    )
    def test_bad_settings_are_errors(self, bad):
        weight = nn.Parameter(torch.ones(1))
        with pytest.raises(ValueError, match=next(iter(bad))):
            train(lambda: weight.sum(), [weight], **({"steps": 1} | bad))


class TestLosses:
    def test_uniform_logits_cost_log_v(self):
        loss = language_model_loss(
            torch.zeros(2, 3, 5, dtype=torch.float64), torch.zeros(2, 3).long()
        )
        assert loss.item() == pytest.approx(math.log(5))

    def test_shapes_must_belong_together(self):
        with pytest.raises(ValueError, match="shape"):
            language_model_loss(torch.zeros(2, 3, 5), torch.zeros(3, 2).long())

    def test_next_token_loss_compares_each_place_with_the_token_after_it(self):
        model = GPTModel(5, 8, 2, 1, 8, generator=seeded(0)).double()
        window = torch.tensor([[1, 2, 3, 4]])
        law = torch.softmax(model(window[:, :-1])[0], dim=-1)
        by_hand = (
            -sum(law[place, token].log().item() for place, token in enumerate([2, 3, 4]))
            / 3
        )
        assert next_token_loss(model, window).item() == pytest.approx(by_hand)


class TestWindows:
    def test_windows_are_stretches_of_the_text_and_reach_both_ends(self):
        text = torch.arange(20)
        windows = draw_windows(text, 300, 6, seeded(0))
        assert windows.shape == (300, 6)
        assert bool((windows.diff(dim=1) == 1).all())
        assert windows.min() == 0 and windows.max() == 19

    def test_a_text_that_is_too_short_is_an_error(self):
        with pytest.raises(ValueError, match="text"):
            draw_windows(torch.arange(5), 2, 6)
        with pytest.raises(ValueError, match="text"):
            held_out_windows(torch.arange(5), 2, 6)

    def test_held_out_windows_are_spread_evenly(self):
        windows = held_out_windows(torch.arange(100), 4, 10)
        assert windows[:, 0].tolist() == [0, 30, 60, 90]
        assert held_out_windows(torch.arange(10), 1, 10).tolist() == [list(range(10))]


def _two_words(probability: float) -> Language:
    """A language in which each word is one letter and word 0 follows with a given probability, else word 1."""
    law = torch.zeros(8, 8, 8, dtype=torch.float64)
    law[..., 0], law[..., 1] = probability, 1 - probability
    return Language([[word, SEPARATOR] for word in range(8)], law)


class TestLanguage:
    @pytest.mark.parametrize("seed", range(20))
    def test_words_and_law_are_as_told(self, seed):
        language = draw_language(seeded(seed))
        assert len({tuple(word) for word in language.words}) == 8
        assert all(3 <= len(word) <= 5 and word[-1] == SEPARATOR for word in language.words)
        assert all(SEPARATOR not in word[:-1] for word in language.words)
        assert torch.allclose(language.word_law.sum(dim=2), torch.ones(8, 8).double())
        assert bool(((language.word_law > 0).sum(dim=2) == 3).all())

    def test_the_entropy_rate_of_a_coin(self):
        assert _two_words(0.5).entropy_rate == pytest.approx(math.log(2) / 2)
        assert _two_words(1.0).entropy_rate == 0.0

    @pytest.mark.parametrize("seed", range(3))
    def test_a_long_text_has_the_entropy_rate(self, seed):
        """The log-probability of the sampled words a symbol: an estimate that shares nothing with the formula."""
        language = draw_language(seeded(seed))
        text = language.sample(60_000, seeded(seed + 100)).tolist()
        by_spelling = {tuple(word): number for number, word in enumerate(language.words)}
        before, last, nats, word, counted = 0, 0, 0.0, [], 0
        for symbol in text:
            word.append(symbol)
            if symbol == SEPARATOR:
                chosen = by_spelling[tuple(word)]
                nats -= math.log(language.word_law[before, last, chosen].item())
                counted += len(word)
                before, last, word = last, chosen, []
        assert nats / counted == pytest.approx(language.entropy_rate, rel=0.03)

    def test_successors_come_as_often_as_the_law_says(self):
        text = _two_words(0.8).sample(40_000, seeded(0))
        assert (text[::2] == 0).double().mean().item() == pytest.approx(0.8, abs=0.01)

    def test_sampling_gives_just_the_length_asked_for(self):
        assert [len(draw_language(seeded(0)).sample(n, seeded(1))) for n in (1, 2, 9)] == [
            1,
            2,
            9,
        ]

    def test_spelling(self):
        assert spell([0, 14, SEPARATOR]) == "ao·"
        assert spell(torch.tensor([1])) == "b"


@pytest.fixture(scope="module")
def target():
    return trained_target(seed=1, steps=60)


class TestTrainedTarget:
    def test_sizes(self, target):
        assert target.training_text.shape == (60_000,) and target.held_out.shape == (
            12_000,
        )
        assert target.model.vocab_size == VOCAB_SIZE and target.model.max_seq_len == 40
        assert target.model.lm_head.weight.dtype == torch.float64
        assert not any(parameter.requires_grad for parameter in target.model.parameters())
        assert not target.model.training

    def test_it_learns(self, target):
        assert len(target.losses) == 60
        assert target.language.entropy_rate < target.held_out_loss < 1.2 < target.losses[0]

    def test_a_seed_is_a_language(self, target):
        again, other = trained_target(1, steps=1), trained_target(2, steps=1)
        assert torch.equal(again.training_text, target.training_text)
        assert not torch.equal(other.training_text, target.training_text)
