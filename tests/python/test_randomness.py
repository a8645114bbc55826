"""The two draws: strict, on a stream that does not depend on the probabilities, and checked."""

import pytest
import torch
from conftest import probs, seeded

from specdec.randomness import accept, categorical


def test_u_of_zero_rejects_at_probability_zero(monkeypatch):
    monkeypatch.setattr(torch, "rand", lambda *shape, generator: torch.zeros(*shape))
    assert accept(0.0, seeded(0)) == (False, 0.0)
    assert accept(1e-300, seeded(0)) == (True, 0.0)


def test_a_certain_verdict_draws_all_the_same():
    sure, unsure = seeded(5), seeded(5)
    accept(1.0, sure)
    accept(0.5, unsure)
    assert torch.equal(sure.get_state(), unsure.get_state())


def test_draws_are_torchs_own():
    assert accept(0.5, seeded(3))[1] == torch.rand(1, generator=seeded(3)).item()
    weights = probs(0.1, 0.2, 0.3, 0.4)
    drawn = torch.multinomial(weights, 6, replacement=True, generator=seeded(3))
    assert torch.equal(categorical(weights, seeded(3), 6), drawn)


def test_without_a_generator_the_global_one_is_used():
    with torch.random.fork_rng():
        torch.manual_seed(11)
        u, token = accept(0.5)[1], categorical(probs(0.5, 0.5)).item()
        torch.manual_seed(11)
        assert u == torch.rand(1).item()
        assert token == torch.multinomial(probs(0.5, 0.5), 1).item()


@pytest.mark.parametrize("prob", [-0.1, 1.1, float("nan")])
def test_accept_refuses(prob):
    with pytest.raises(ValueError, match="prob must be between 0.0 and 1.0"):
        accept(prob, seeded(0))


@pytest.mark.parametrize(
    ("weights", "count", "message"),
    [
        (probs(0.5, 0.4), 1, "must sum to 1"),
        (probs(1.5, -0.5), 1, "must not be negative"),
        (probs(float("inf"), 0.0), 1, "must sum to 1"),
        (probs(0.5, float("nan")), 1, "negative or NaN"),
        (probs(), 1, "at least one probability"),
        (torch.tensor(1.0), 1, "at least one probability"),
        (torch.stack([probs(1.0), probs(1.0)]), 1, "one axis"),
        ([0.5, 0.5], 1, "float32 or float64 tensor, got list"),
        (probs(0.5, 0.5), 0, "count must be an integer of at least 1"),
    ],
)
def test_categorical_refuses(weights, count, message):
    with pytest.raises(ValueError, match=message):
        categorical(weights, seeded(0), count)
