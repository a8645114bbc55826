"""The figures that the contract fixes, on float32 and float64 alike."""

import pytest
import torch
from conftest import probs, seeded

from specdec.speculative import (
    acceptance_rate,
    best_gamma,
    demonstrate_speculative,
    expected_accepted_tokens,
    residual_distribution,
    speculative_decode,
    speculative_speedup,
    speculative_verify,
    total_variation,
)

both_dtypes = pytest.mark.parametrize("dtype", [torch.float32, torch.float64])


@both_dtypes
def test_acceptance_rate_and_residual(dtype):
    p, q = (
        probs(0.5, 0.3, 0.15, 0.05, dtype=dtype),
        probs(0.4, 0.4, 0.15, 0.05, dtype=dtype),
    )
    assert f"{acceptance_rate(p, q):.3f}" == "0.900"
    residual = residual_distribution(p, q)
    assert residual.tolist() == [1, 0, 0, 0]
    assert residual.dtype == dtype


@both_dtypes
def test_verify(dtype):
    p, q = (
        probs(0.5, 0.3, 0.15, 0.05, dtype=dtype),
        probs(0.4, 0.4, 0.15, 0.05, dtype=dtype),
    )
    emitted, n_accepted = speculative_verify(
        torch.stack([p] * 3),
        torch.stack([q] * 2),
        torch.tensor([0, 1]),
        generator=seeded(0),
    )
    assert (emitted.tolist(), emitted.dtype, n_accepted) == ([0, 0], torch.int64, 1)


@both_dtypes
def test_decode(dtype):
    p, q = (
        probs(0.4, 0.25, 0.15, 0.1, 0.06, 0.04, dtype=dtype),
        probs(0.3, 0.3, 0.2, 0.1, 0.06, 0.04, dtype=dtype),
    )
    tokens, trace = speculative_decode(
        torch.tensor([0]),
        lambda _: p,
        lambda _: q,
        gamma=4,
        max_new_tokens=12,
        generator=seeded(1),
    )
    assert tokens == [0, 0, 2, 0, 0, 3, 2, 1, 0, 0, 0, 4]
    assert [
        (record["proposed"], record["n_accepted"], record["emitted"]) for record in trace
    ] == [
        ([0, 0, 2, 0], 4, [0, 0, 2, 0, 0]),
        ([3, 2, 1, 1], 3, [3, 2, 1, 0]),
        ([0, 0, 4, 1], 3, [0, 0, 4, 0]),
    ]


@both_dtypes
@pytest.mark.parametrize(
    ("q", "alpha"), [((0.45, 0.35, 0.20), 0.95), ((0.1, 0.1, 0.8), 0.40)]
)
def test_alpha_is_one_minus_total_variation(q, alpha, dtype):
    p, q = probs(0.5, 0.3, 0.2, dtype=dtype), probs(*q, dtype=dtype)
    assert acceptance_rate(p, q) == pytest.approx(alpha, abs=1e-6)
    assert 1 - total_variation(p, q) == pytest.approx(alpha, abs=1e-6)


def test_tokens_and_speedup_over_gamma():
    gammas = range(1, 11)
    tokens = [f"{expected_accepted_tokens(0.85, gamma):.2f}" for gamma in gammas]
    speedups = [f"{speculative_speedup(0.85, gamma, 0.15):.2f}" for gamma in gammas]
    assert tokens == "1.85 2.57 3.19 3.71 4.15 4.53 4.85 5.12 5.35 5.55".split()
    assert speedups == "1.61 1.98 2.20 2.32 2.37 2.38 2.37 2.33 2.28 2.22".split()


def test_accepted_mass_and_residual_mass_give_p_in_float32():
    p = probs(0.5, 0.2, 0.2, 0.1, dtype=torch.float32)
    q = probs(0.2, 0.4, 0.3, 0.1, dtype=torch.float32)
    law = torch.minimum(p, q) + residual_distribution(p, q) * (1 - acceptance_rate(p, q))
    assert law.tolist() == pytest.approx(p.tolist(), abs=1e-6)


@pytest.mark.parametrize(
    ("alpha", "c", "gamma", "speedup"),
    [
        (0.85, 0.05, 10, "3.70"),
        (0.85, 0.15, 6, "2.38"),
        (0.85, 0.4, 3, "1.45"),
        (0.9, 0.1, 10, "3.43"),
        (0.4, 0.1, 2, "1.30"),
    ],
)
def test_best_gamma(alpha, c, gamma, speedup):
    assert best_gamma(alpha, c) == gamma
    assert f"{speculative_speedup(alpha, gamma, c):.2f}" == speedup


def test_any_gain_needs_alpha_above_c():
    for hundredths in range(1, 100):
        c = hundredths / 100
        assert best_gamma(c, c) == 0
        assert best_gamma(c - 0.01, c) == 0
        assert best_gamma(c + 0.01, c) > 0


def test_limits_of_alpha():
    for gamma in range(10):
        assert expected_accepted_tokens(0.0, gamma) == 1
        assert expected_accepted_tokens(1.0, gamma) == gamma + 1


def test_the_explorers_grid_is_the_formula():
    grid = demonstrate_speculative()
    assert (grid["c"], len(grid["alphas"]), grid["gammas"]) == (0.1, 21, list(range(1, 17)))
    for alpha, tokens, speedups in zip(
        grid["alphas"], grid["tokens_per_pass"], grid["speedup"], strict=True
    ):
        if alpha < 1:
            closed_form = [
                (1 - alpha ** (gamma + 1)) / (1 - alpha) for gamma in grid["gammas"]
            ]
            assert tokens == pytest.approx(closed_form, rel=1e-12)
        assert speedups == pytest.approx(
            [t / (g * 0.1 + 1) for t, g in zip(tokens, grid["gammas"], strict=True)]
        )
