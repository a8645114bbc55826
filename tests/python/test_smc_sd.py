"""SMC-SD's law, exactly: known values, two exact anchors, the bias and its bound; and what happens at the edges."""

import itertools
import json
import math
import re
from collections import defaultdict
from fractions import Fraction
from functools import cache
from pathlib import Path

import pytest
import torch
from conftest import context_step, probs, seeded
from hypothesis import given, settings
from hypothesis import strategies as st

from specdec import smc_sd
from specdec.book.exercises_smc_sd import ESS, FIRST_FIRE, LOG_WEIGHTS, TWO_PARTICLES
from specdec.enumeration import autoregressive_law, law_distance, output_law
from specdec.generation import model_step
from specdec.smc_sd import (
    block_chi_squared,
    chi_squared,
    demonstrate_smc_sd,
    effective_sample_size,
    first_order_squared_error,
    self_normalised_law,
    self_normalised_squared_error,
    smc_sd_decode,
    smc_sd_decode_models,
    smc_sd_round,
    smc_sd_speedup,
    weighted_first_tokens,
)
from specdec.speculative import acceptance_rate, expected_accepted_tokens
from specdec.transformer import GPTModel, KVCache

both_dtypes = pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
CONTRACT_P = (0.40, 0.25, 0.15, 0.08, 0.05, 0.03, 0.02, 0.02)


def _pair(dtype=torch.float64):
    return probs(*CONTRACT_P, dtype=dtype), torch.full((8,), 1 / 8, dtype=dtype)


def on_lists(step):
    """A step function of the other modules, fed with a list."""
    return lambda tokens: step(torch.tensor(tokens))


class TestContract:
    def test_effective_sample_size(self):
        assert effective_sample_size([1, 1, 1, 1]) == 4.0
        assert round(effective_sample_size(torch.tensor([10.0, 1, 1, 1])), 3) == 1.641

    @both_dtypes
    def test_round(self, dtype):
        p, q = _pair(dtype)
        particles, weights, trace = smc_sd_round(
            [[]] * 8, [1.0] * 8, lambda _: q, lambda _: p, 2, 4, seeded(0)
        )
        assert trace["draft_blocks"] == [
            [6, 3], [0, 1], [4, 2], [2, 3], [4, 5], [4, 0], [6, 4], [0, 6],
        ]  # fmt: skip
        ratios = "0.10 6.40 0.48 0.77 0.10 1.28 0.06 0.51".split()
        assert [f"{ratio:.2f}" for ratio in trace["block_ratios"]] == ratios
        assert f"{trace['ess']:.2f}" == "2.15" and trace["resampled"]
        assert weights == trace["weights"] == [1 / 8] * 8
        assert trace["lengths"] == [3] * 8 == [len(particle) for particle in particles]

    @both_dtypes
    def test_decode(self, dtype):
        p, q = _pair(dtype)
        tokens, trace = smc_sd_decode(lambda _: q, lambda _: p, [0], 2, 8, 4, 7, seeded(3))
        assert tokens == [0, 7, 0, 1, 1, 0, 0, 0]
        assert [(f"{r['ess']:.2f}", r["resampled"]) for r in trace] == [
            ("5.77", False),
            ("1.44", True),
            ("2.98", True),
        ]
        assert [record["lengths"] for record in trace] == [[4] * 8, [7] * 8, [10] * 8]

    @both_dtypes
    def test_self_draft_never_resamples(self, dtype):
        p, _ = _pair(dtype)
        _, trace = smc_sd_decode(lambda _: p, lambda _: p, [0], 2, 8, 8, 30, seeded(3))
        for record in trace:
            assert record["block_ratios"] == [1.0] * 8 and record["ess"] == 8.0
            assert not record["resampled"] and record["weights"] == [1.0] * 8

    @both_dtypes
    def test_nothing_drafted_leaves_the_weights(self, dtype):
        p, q = _pair(dtype)
        _, weights, trace = smc_sd_round(
            [[]] * 8, [1.0] * 8, lambda _: q, lambda _: p, 0, 8, seeded(0)
        )
        assert weights == [1.0] * 8 and trace["draft_blocks"] == [[]] * 8

    @both_dtypes
    def test_one_generator_over_the_divergences(self, dtype):
        p, uniform = _pair(dtype)
        generator, seen = seeded(0), []
        for delta in (0, 0.2, 0.4, 0.6, 0.8, 1):
            q = (1 - delta) * p + delta * uniform
            _, _, trace = smc_sd_round(
                [[]] * 8, [1.0] * 8, lambda _, q=q: q, lambda _: p, 2, 4, generator
            )
            seen.append((f"{trace['ess']:.2f}", trace["resampled"]))
        assert [ess for ess, _ in seen] == "8.00 7.38 7.34 4.08 2.83 2.57".split()
        assert [resampled for _, resampled in seen] == [False] * 4 + [True] * 2

    def test_the_same_pair_under_rejection(self):
        p, q = _pair()
        alpha = acceptance_rate(p, q)
        assert alpha == pytest.approx(0.575)
        assert f"{expected_accepted_tokens(alpha, 2):.2f}" == "1.91"

    def test_demonstration(self):
        rows = demonstrate_smc_sd(n_seeds=200)
        assert [row["delta"] for row in rows] == [step / 10 for step in range(11)]
        picked = [rows[0], rows[5], rows[10]]
        assert [
            f"{row['sd_tokens_per_pass']:.2f}" for row in picked
        ] == "5.00 4.10 3.36".split()
        assert [f"{row['chi2_token']:.3f}" for row in picked] == "0.000 0.057 0.209".split()
        assert [f"{row['chi2_block']:.3f}" for row in picked] == "0.000 0.249 1.138".split()
        for row in rows:
            assert row["smc_tokens_per_pass"] == 5.0
            assert row["sampling_floor"] + row["weight_error"] == row["squared_error"]
            expected = row["predicted_squared_error"]
            assert row["squared_error"] == pytest.approx(expected, rel=0.15)


HALF, SKEWED = probs(0.5, 0.5), probs(0.75, 0.25)


def _first_token_law(p, q, n_particles, eta=0.0):
    law = output_law(
        lambda walker: smc_sd_decode(
            lambda _: q, lambda _: p, [0], 1, n_particles, eta, 1, walker
        )[0][1]
    )
    return [law.get(token, 0.0) for token in range(len(p))]


@pytest.mark.parametrize(("n", "expected"), [(1, "3/4"), (2, "21/32"), (4, "1497/2560")])
def test_known_laws(n, expected):
    first = float(Fraction(expected))
    assert _first_token_law(HALF, SKEWED, n) == pytest.approx([first, 1 - first], abs=1e-12)
    assert self_normalised_law(HALF, SKEWED, n) == pytest.approx(
        [first, 1 - first], abs=1e-12
    )


@pytest.mark.parametrize("n", [1, 2, 3])
def test_resampling_before_the_answer_leaves_one_rounds_law(n):
    always = _first_token_law(HALF, SKEWED, n, eta=n + 1.0)
    assert always == pytest.approx(_first_token_law(HALF, SKEWED, n), abs=1e-12)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_counting_law_is_the_enumerated_one_on_three_tokens(n):
    p, q = probs(0.5, 0.3, 0.2), probs(0.2, 0.3, 0.5)
    # a certain token after the block keeps the tree small
    certain = probs(1, 0, 0)
    law = output_law(
        lambda walker: smc_sd_decode(
            lambda _: q, lambda t: p if len(t) == 1 else certain, [0], 1, n, 0, 1, walker
        )[0][1]
    )
    assert [law[token] for token in range(3)] == pytest.approx(
        self_normalised_law(p, q, n), abs=1e-12
    )


ANCHORS = [
    (kind, vocab_size, K, n, eta, prompt)
    for kind, (vocab_size, K, n) in itertools.product(
        ("draft is the target", "nothing drafted"),
        [(2, 1, 1), (2, 1, 2), (2, 2, 2), (3, 1, 2), (2, 1, 3), (3, 2, 1)],
    )
    for eta in (0.0, float(n), n + 1.0)
    for prompt in ([0], [1, 0, 1])
    if not (n == 3 and eta > n)
]


@pytest.mark.parametrize(("kind", "vocab_size", "K", "n", "eta", "prompt"), ANCHORS)
def test_exact_anchors(kind, vocab_size, K, n, eta, prompt):
    """With the target as its own draft, or with nothing drafted, the law is the target's."""
    generator = seeded(10 * vocab_size + K)
    target = context_step(vocab_size, generator)
    draft = target
    if kind == "nothing drafted":
        draft, K = context_step(vocab_size, generator, missing_support=True), 0
    wanted = min(2, K + 1)
    law = output_law(
        lambda walker: smc_sd_decode(
            on_lists(draft), on_lists(target), prompt, K, n, eta, wanted, walker
        )[0][len(prompt) :]
    )
    assert law_distance(law, autoregressive_law(target, prompt, wanted)) < 1e-9


def _law_by_hand(p, q, n, eta, n_rounds):
    """The law of the whole answer in fractions, from the definition: K = 1, and the added token is always 0."""
    states = {(((),) * n, (Fraction(1),) * n): Fraction(1)}
    for _ in range(n_rounds):
        after = defaultdict(Fraction)
        for (particles, weights), mass in states.items():
            for drafted in itertools.product(range(len(p)), repeat=n):
                chance = mass * math.prod(q[token] for token in drafted)
                longer = tuple((*a, x, 0) for a, x in zip(particles, drafted, strict=True))
                scored = [w * p[x] / q[x] for w, x in zip(weights, drafted, strict=True)]
                total = sum(scored)
                if total**2 >= eta * sum(weight**2 for weight in scored):
                    after[longer, tuple(scored)] += chance
                    continue
                for ancestors in itertools.product(range(n), repeat=n):
                    picked = math.prod(scored[a] / total for a in ancestors)
                    copies = tuple(longer[a] for a in ancestors)
                    after[copies, (Fraction(1, n),) * n] += chance * picked
        states = after
    law = defaultdict(Fraction)
    for (particles, weights), mass in states.items():
        for particle, weight in zip(particles, weights, strict=True):
            law[particle] += mass * weight / sum(weights)
    return {answer: float(mass) for answer, mass in law.items()}


ETA = Fraction(17, 10)  # below it: one particle on either token


@cache
def _two_rounds_by_hand():
    half, skewed = [Fraction(1, 2)] * 2, [Fraction(3, 4), Fraction(1, 4)]
    return _law_by_hand(half, skewed, 2, ETA, 2)


def _distance_from_the_definition():
    def target(tokens):
        return HALF if len(tokens) % 2 else probs(1, 0)

    law = output_law(
        lambda walker: smc_sd_decode(
            lambda _: SKEWED, target, [0], 1, 2, float(ETA), 4, walker
        )[0][1:]
    )
    return law_distance(law, _two_rounds_by_hand())


def test_two_rounds_with_resampling_have_the_law_of_the_definition():
    assert sum(_two_rounds_by_hand().values()) == pytest.approx(1)
    assert _distance_from_the_definition() < 1e-12


class TestNegativeControls:
    """Each check above can fail: the real code with one thing broken leaves the law."""

    @pytest.mark.parametrize(
        "wrong",
        [
            lambda p, q: 0.0,  # nothing is weighed
            lambda p, q: sum(map(math.log, p)),  # q forgotten
            lambda p, q: sum(map(math.log, q)) - sum(map(math.log, p)),  # upside down
            lambda p, q: 1.01 * (sum(map(math.log, p)) - sum(map(math.log, q))),
        ],
    )
    def test_wrong_ratio(self, wrong, monkeypatch):
        monkeypatch.setattr(smc_sd, "_log_ratio", wrong)
        assert _distance_from_the_definition() > 1e-4

    def test_weights_kept_after_resampling(self, monkeypatch):
        real = smc_sd.weigh_and_resample

        def kept(*arguments):
            ancestors, _, trace = real(*arguments)
            return ancestors, smc_sd._logs(trace["scored_weights"]), trace

        monkeypatch.setattr(smc_sd, "weigh_and_resample", kept)
        assert _distance_from_the_definition() > 1e-3

    def test_never_resampling(self, monkeypatch):
        monkeypatch.setattr(smc_sd, "_ess", lambda log_weights: math.inf)
        assert _distance_from_the_definition() > 1e-3

    def test_answer_drawn_regardless_of_weight(self, monkeypatch):
        monkeypatch.setattr(
            smc_sd,
            "_normalised",
            lambda logs: torch.full((len(logs),), 1 / len(logs)).double(),
        )
        assert _distance_from_the_definition() > 1e-2

    def test_anchor_with_another_draft(self):
        target, draft = context_step(2, seeded(1)), context_step(2, seeded(2))
        law = output_law(
            lambda walker: smc_sd_decode(
                on_lists(draft), on_lists(target), [0], 1, 2, 1, 2, walker
            )[0][1:]
        )
        assert law_distance(law, autoregressive_law(target, [0], 2)) > 1e-2


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 10**6), vocab_size=st.integers(2, 4), n=st.integers(1, 12))
def test_bias_is_within_the_bound(seed, vocab_size, n):
    generator = seeded(seed)
    p, q = (
        torch.softmax(2 * torch.randn(vocab_size, generator=generator).double(), 0)
        for _ in range(2)
    )
    chi2, law = chi_squared(p, q), self_normalised_law(p, q, n)
    assert sum(law) == pytest.approx(1, abs=1e-9)
    distance = 0.5 * sum(abs(mass - x) for mass, x in zip(law, p.tolist(), strict=True))
    assert distance <= 2 * math.sqrt(chi2 * (1 + chi2)) / n + 1e-12


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 10**6), vocab_size=st.integers(2, 3), n=st.integers(1, 12))
def test_squared_error_is_within_the_bound(seed, vocab_size, n):
    generator = seeded(seed)
    p, q = (
        torch.softmax(2 * torch.randn(vocab_size, generator=generator).double(), 0)
        for _ in range(2)
    )
    errors = self_normalised_squared_error(p, q, n)
    assert all(0 <= error <= 4 * (1 + chi_squared(p, q)) / n for error in errors)
    floor = self_normalised_squared_error(p, p, n)
    assert floor == pytest.approx((p * (1 - p) / n).tolist(), abs=1e-12)


def test_squared_error_of_two_particles_by_hand():
    # both on token 0: 9/16, p̂(0) = 1; both on 1: 1/16, p̂(0) = 0; else w̄ = (1/4, 3/4)
    expected = 9 / 16 * 0.25 + 1 / 16 * 0.25 + 6 / 16 * 0.0625
    error = self_normalised_squared_error(HALF, SKEWED, 2)
    assert error == pytest.approx([expected] * 2, abs=1e-12)


def test_squared_error_tends_to_its_first_order():
    for n in (64, 128):
        error = sum(self_normalised_squared_error(HALF, SKEWED, n))
        assert error * n == pytest.approx(
            first_order_squared_error(HALF, SKEWED, 1), rel=0.05
        )


def test_bias_halves_when_the_particles_double():
    biases = [
        self_normalised_law(HALF, SKEWED, n)[0] - 0.5 for n in (1, 2, 4, 64, 128, 256)
    ]
    assert all(former > latter > 0 for former, latter in itertools.pairwise(biases))
    for former, latter in itertools.pairwise(biases[3:]):
        assert former / latter == pytest.approx(2, rel=0.01)
    assert 256 * biases[-1] == pytest.approx(1 / 3, rel=0.01)  # −E_q[W²(1{x} − p(x))]


def _kinds(token_law, K):
    """The law of how many tokens of a block of K independent ones are 1."""
    zero, one = token_law.tolist()
    return probs(*(math.comb(K, k) * zero ** (K - k) * one**k for k in range(K + 1)))


@pytest.mark.parametrize(("K", "n"), [(2, 1), (2, 3), (3, 2)])
def test_counting_by_kind_gives_the_distance_of_the_whole_blocks(K, n):
    def joint(token_law):
        blocks = itertools.product(range(2), repeat=K)
        return probs(*(math.prod(token_law[x].item() for x in block) for block in blocks))

    p, q = joint(HALF), joint(SKEWED)
    whole = law_distance(
        dict(enumerate(self_normalised_law(p, q, n))), dict(enumerate(p.tolist()))
    )
    assert _distance_by_kind(K, n) == pytest.approx(whole, abs=1e-12)
    assert chi_squared(_kinds(HALF, K), _kinds(SKEWED, K)) == pytest.approx(
        block_chi_squared(chi_squared(HALF, SKEWED), K)
    )


def _distance_by_kind(K, n):
    p, q = _kinds(HALF, K), _kinds(SKEWED, K)
    return law_distance(
        dict(enumerate(self_normalised_law(p, q, n))), dict(enumerate(p.tolist()))
    )


def test_bound_needs_the_blocks_chi_squared():
    token = chi_squared(HALF, SKEWED)
    block = block_chi_squared(token, 6)

    def bound(chi2):
        return 2 * math.sqrt(chi2 * (1 + chi2)) / 8

    assert bound(token) < _distance_by_kind(6, 8) < bound(block)


def test_chi_squared():
    p, q = probs(0.5, 0.3, 0.2), probs(0.2, 0.3, 0.5)
    assert chi_squared(p, q) == pytest.approx((p**2 / q).sum().item() - 1)
    assert chi_squared(p, p) == 0
    assert chi_squared(probs(0.5, 0.5), probs(1, 0)) == math.inf
    assert chi_squared(probs(1, 0), probs(1, 0)) == 0
    joint_p, joint_q = torch.outer(p, p).flatten(), torch.outer(q, q).flatten()
    assert chi_squared(joint_p, joint_q) == pytest.approx(
        block_chi_squared(chi_squared(p, q), 2)
    )


def test_first_order_error_without_divergence_is_the_floor():
    p = probs(0.5, 0.3, 0.2)
    assert first_order_squared_error(p, p, 3) == pytest.approx(1 - (p**2).sum().item())


def test_vectorised_estimates_are_those_of_weighted_particles():
    p, q = _pair()
    estimates, ess = weighted_first_tokens(p, q, 3, 5, 4)
    for seed in range(4):
        drawn = torch.multinomial(q, 15, replacement=True, generator=seeded(seed)).tolist()
        blocks = [drawn[3 * n : 3 * n + 3] for n in range(5)]
        weights = [math.prod((p[x] / q[x]).item() for x in block) for block in blocks]
        by_hand = [0.0] * 8
        for weight, block in zip(weights, blocks, strict=True):
            by_hand[block[0]] += weight / sum(weights)
        assert estimates[seed].tolist() == pytest.approx(by_hand)
        assert ess[seed].item() == pytest.approx(effective_sample_size(weights))


def test_speedup():
    assert smc_sd_speedup(4, 0.0) == 5 and smc_sd_speedup(0, 0.3) == 1
    assert smc_sd_speedup(4, 0.1) == pytest.approx(5 / 1.4)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    vocab_size=st.integers(2, 5),
    K=st.integers(0, 3),
    n=st.integers(1, 5),
    share=st.floats(0, 1.2),
    wanted=st.integers(1, 9),
    missing=st.booleans(),
)
def test_trace_tells_what_happened(seed, vocab_size, K, n, share, wanted, missing):
    generator = seeded(seed)
    target = context_step(vocab_size, generator)
    draft = context_step(vocab_size, generator, missing_support=missing)
    eta = share * n
    tokens, trace = smc_sd_decode(
        on_lists(draft), on_lists(target), [0], K, n, eta, wanted, generator
    )
    assert len(tokens) == 1 + wanted and tokens[0] == 0
    assert len(trace) == math.ceil(wanted / (K + 1))
    particles, weights = [[0]] * n, [1.0] * n
    for number, record in enumerate(trace, start=1):
        assert record["contexts"] == particles
        for name in ("draft_blocks", "draft_probs", "target_probs"):
            assert [len(row) for row in record[name]] == [K] * n
        for i, block in enumerate(record["draft_blocks"]):
            text = list(particles[i])
            for place, token in enumerate(block):
                assert (
                    record["draft_probs"][i][place] == draft(torch.tensor(text))[token] > 0
                )
                assert record["target_probs"][i][place] == target(torch.tensor(text))[token]
                text.append(token)
            ratio = math.prod(record["target_probs"][i]) / math.prod(
                record["draft_probs"][i]
            )
            assert record["block_ratios"][i] == pytest.approx(ratio)
            assert record["scored_weights"][i] == pytest.approx(weights[i] * ratio)
        assert record["ess"] == pytest.approx(
            effective_sample_size(record["scored_weights"])
        )
        assert 1 - 1e-9 <= record["ess"] <= n + 1e-9
        assert (
            record["resampled"]
            == (record["ess"] < eta)
            == (record["ancestors"] is not None)
        )
        grown = [
            particles[i] + record["draft_blocks"][i] + [record["extra_tokens"][i]]
            for i in range(n)
        ]
        particles = (
            [grown[a] for a in record["ancestors"]] if record["resampled"] else grown
        )
        weights = record["weights"]
        assert weights == ([1 / n] * n if record["resampled"] else record["scored_weights"])
        assert record["lengths"] == [1 + number * (K + 1)] * n
    assert tokens in [particle[: 1 + wanted] for particle in particles]


@settings(max_examples=200, deadline=None)
@given(
    weights=st.lists(st.floats(0, 1e300), min_size=1, max_size=8),
    scale=st.floats(1e-5, 1e5),
)
def test_ess_is_between_one_and_n_and_needs_no_normalised_weights(weights, scale):
    if max(weights) < 1e-300:
        return
    ess = effective_sample_size(weights)
    assert 1 - 1e-9 <= ess <= len(weights) + 1e-9
    scaled = effective_sample_size([weight / 1e10 * scale for weight in weights])
    if min(weights) > 1e-200:
        assert scaled == pytest.approx(ess, rel=1e-9)


class Always:
    """A chance source that always answers with the same token, where it can."""

    def __init__(self, token):
        self.token = token

    def categorical(self, law, count):
        return torch.full(
            (count,), self.token if law[self.token] > 0 else int(law.argmax())
        )


@pytest.mark.parametrize(
    ("p", "q"),
    [(probs(1e-60, 1.0), probs(1.0, 0.0)), (probs(1.0, 0.0), probs(1e-60, 1.0))],
    ids=["underflow", "overflow"],
)
def test_weights_beyond_a_floats_range_do_no_harm(p, q):
    tokens, trace = smc_sd_decode(lambda _: q, lambda _: p, [0], 3, 4, 0, 100, Always(0))
    assert len(tokens) == 101 and len(trace) == 25
    for record in trace:
        assert record["ess"] == 4.0
        assert all(0 < weight < math.inf for weight in record["weights"])
    assert trace[-1]["weights"] == [1.0] * 4  # all divided by the largest


def test_the_dead_are_neither_copied_nor_chosen():
    p, q = probs(0.0, 0.5, 0.5), probs(0.8, 0.1, 0.1)
    deaths = 0
    for seed in range(40):
        try:
            tokens, trace = smc_sd_decode(
                lambda _: q, lambda _: p, [1], 1, 12, 6.0 * (seed % 2), 6, seeded(seed)
            )
        except ValueError as error:
            assert "every particle died" in str(error)
            deaths += 1
            continue
        assert 0 not in tokens
        for record in trace:
            alive = {i for i, weight in enumerate(record["scored_weights"]) if weight > 0}
            assert set(record["ancestors"] or alive) <= alive
            assert not any(math.isnan(weight) for weight in record["weights"])
    assert 0 < deaths < 40


def test_all_dead_is_an_error():
    p, q = probs(0.0, 1.0), probs(1.0, 0.0)
    with pytest.raises(
        ValueError, match="every particle died.*use more particles or a draft"
    ):
        smc_sd_round([[0]] * 3, [1.0] * 3, lambda _: q, lambda _: p, 1, 0, seeded(0))


def test_rounds_leave_their_input_alone():
    p, q = _pair()
    particles, weights = [[1], [2]], [1.0, 3.0]
    smc_sd_round(particles, weights, lambda _: q, lambda _: p, 2, 9, seeded(0))
    assert (particles, weights) == ([[1], [2]], [1.0, 3.0])


def _gpt(seed, vocab_size=5, window=24):
    return GPTModel(vocab_size, 8, 2, 1, window, generator=seeded(seed)).double()


class Fed:
    """Draws by inverting the distribution function at uniforms that it is handed in advance."""

    def __init__(self, for_tokens, for_ancestors):
        self.for_tokens, self.for_ancestors = iter(for_tokens), iter(for_ancestors)

    def categorical(self, law, count):
        uniforms = self.for_tokens if count == 1 else self.for_ancestors
        sums = law.cumsum(0) / law.sum()
        return torch.tensor([int((sums <= next(uniforms)).sum()) for _ in range(count)])


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    K=st.integers(0, 3),
    n=st.integers(2, 5),
    share=st.floats(0, 1.2),
    wanted=st.integers(1, 10),
)
def test_fed_the_same_uniforms_the_batch_holds_the_same_particles(
    seed, K, n, share, wanted
):
    draft, target = _gpt(seed), _gpt(seed + 1)
    steps = on_lists(model_step(draft)), on_lists(model_step(target))
    arguments = [1, 4], K, n, share * n, wanted
    n_rounds = math.ceil(wanted / (K + 1))
    # of each round, by particle and place; the list form goes along the rows, the batch down the columns
    tables = torch.rand(n_rounds, n, K + 1, generator=seeded(seed))
    ancestors = torch.rand(n_rounds * n, generator=seeded(seed + 1)).tolist()

    def fed(tables):
        return Fed([*tables.flatten().tolist(), 0.5], ancestors)

    tokens, trace = smc_sd_decode(*steps, *arguments, fed(tables))
    batch_tokens, batch_trace = smc_sd_decode_models(
        draft, target, *arguments, fed(tables.transpose(1, 2))
    )
    assert batch_tokens == tokens
    for record, batch_record in zip(trace, batch_trace, strict=True):
        assert record.keys() == batch_record.keys()
        for key, value in record.items():
            if (
                isinstance(value, float)
                or "prob" in key
                or "ratio" in key
                or "weight" in key
            ):
                value, other = torch.tensor(value), torch.tensor(batch_record[key])
                assert torch.allclose(value.double(), other.double(), rtol=1e-9), key
            else:
                assert batch_record[key] == value, key


@pytest.mark.parametrize(
    ("K", "n", "eta", "wanted"), [(1, 2, 1.5, 2), (0, 2, 0.0, 2), (2, 1, 1.0, 3)]
)
def test_batch_and_list_have_the_same_law(K, n, eta, wanted):
    draft, target = _gpt(1, vocab_size=2), _gpt(2, vocab_size=2)
    batch = output_law(
        lambda walker: smc_sd_decode_models(draft, target, [1], K, n, eta, wanted, walker)[
            0
        ]
    )
    steps = on_lists(model_step(draft)), on_lists(model_step(target))
    ours = output_law(
        lambda walker: smc_sd_decode(*steps, [1], K, n, eta, wanted, walker)[0]
    )
    assert law_distance(batch, ours) < 1e-9
    shifted = output_law(
        lambda walker: smc_sd_decode_models(target, draft, [1], K, n, eta, wanted, walker)[
            0
        ]
    )
    assert law_distance(shifted, ours) > 1e-3


def test_batch_without_reordering_its_caches_is_caught(monkeypatch):
    draft, target = _gpt(1), _gpt(2)
    arguments = draft, target, [1], 2, 6, 7.0, 9
    right, _ = smc_sd_decode_models(*arguments, seeded(5))
    probabilities = smc_sd_decode_models(*arguments, seeded(5))[1][-1]["target_probs"]
    monkeypatch.setattr(KVCache, "reorder", lambda self, rows: None)
    assert (
        smc_sd_decode_models(*arguments, seeded(5))[1][-1]["target_probs"] != probabilities
    )


def test_batch_takes_one_target_pass_a_round():
    draft, target = _gpt(1), _gpt(2)
    seen = {"draft": [], "target": []}
    for name, model in (("draft", draft), ("target", target)):
        model.register_forward_hook(
            lambda module, inputs, output, name=name: seen[name].append(inputs[0].shape)
        )
    smc_sd_decode_models(draft, target, [1, 2], 3, 4, 2, 12, seeded(0))
    assert seen["target"] == [
        (4, 5),
        (4, 4),
        (4, 4),
    ]  # prompt and block, then extra and block
    assert seen["draft"] == [(4, 2), (4, 1), (4, 1)] + 2 * [(4, 2), (4, 1), (4, 1)]


def test_reordered_cache():
    model, cache = _gpt(3), KVCache()
    texts = torch.tensor([[1, 2], [3, 4], [0, 1]])
    model(texts, cache)
    cache.reorder([2, 0, 2])
    following = torch.tensor([[4], [4], [1]])
    expected = model(torch.cat([texts[[2, 0, 2]], following], dim=1))[:, -1]
    assert torch.allclose(model(following, cache)[:, -1], expected, atol=1e-10)
    with pytest.raises(ValueError, match=r"rows must lie in 0\.\.2, got \[3\]"):
        cache.reorder([3])


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"prompt": []}, "prompt must be a 1-D sequence of at least one token"),
        ({"K": -1}, "K must be an integer of at least 0, got -1"),
        ({"N": 0}, "N must be an integer of at least 1, got 0"),
        ({"eta": -1.0}, "eta must be at least 0.0, got -1.0"),
        ({"eta": float("nan")}, "eta must be at least 0.0, got nan"),
        ({"max_new_tokens": 0}, "max_new_tokens must be an integer of at least 1, got 0"),
        ({"draft_step": lambda _: SKEWED * 2}, "draft_step's distribution must sum to 1"),
        ({"target_step": lambda _: SKEWED * 2}, "target_step's distribution must sum to 1"),
        ({"draft_step": lambda _: probs(0.5, 0.3, 0.2)}, "one vocabulary, got 2 .* and 3"),
    ],
)
def test_decode_refuses(changed, message):
    arguments = {"draft_step": lambda _: SKEWED, "target_step": lambda _: HALF}
    arguments |= {"prompt": [0], "K": 1, "N": 2, "eta": 1.0, "max_new_tokens": 3}
    with pytest.raises(ValueError, match=message):
        smc_sd_decode(**(arguments | changed), rng=seeded(0))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: effective_sample_size([]), "weights must be at least one finite number"),
        (lambda: effective_sample_size([0.0, 0.0]), "every particle died"),
        (lambda: effective_sample_size([1.0, -1.0]), "weights must be"),
        (lambda: effective_sample_size([1.0, math.nan]), "weights must be"),
        (lambda: effective_sample_size([1.0, math.inf]), "weights must be"),
        (lambda: _round([], []), "equally many, at least 1, got 0 and 0"),
        (lambda: _round([[0], [0]], [1.0]), "equally many, at least 1, got 2 and 1"),
        (lambda: _round([[0], [0, 1]], [1.0, 1.0]), r"one length, got \[1, 2\]"),
        (lambda: _round([[0]], [-1.0]), "weights must be"),
        (
            lambda: smc_sd_decode_models(_gpt(0), _gpt(1, 6), [1], 1, 2, 1, 4),
            "one vocabulary, got 6",
        ),
        (
            lambda: smc_sd_decode_models(_gpt(0), _gpt(1), [1], 3, 2, 1, 25),
            "in a window of 24",
        ),
        (lambda: chi_squared(HALF, probs(0.5, 0.3, 0.2)), "one vocabulary"),
        (lambda: block_chi_squared(-0.1, 2), "token_chi_squared must be at least 0"),
        (lambda: smc_sd_speedup(-1, 0.1), "K must be"),
        (lambda: smc_sd_speedup(1, -0.1), "rho must be"),
        (lambda: self_normalised_law(HALF, SKEWED, 0), "N must be"),
        (
            lambda: self_normalised_law(probs(0, 1), HALF, 2),
            "p must be positive wherever q is",
        ),
        (lambda: weighted_first_tokens(HALF, HALF, 0, 2, 2), "K must be"),
    ],
)
def test_refuses(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def _round(particles, weights):
    return smc_sd_round(
        particles, weights, lambda _: SKEWED, lambda _: HALF, 1, 1, seeded(0)
    )


CHAPTER = Path(__file__).parents[2] / "chapters" / "08-smc-sd.ipynb"


def _chapter_payload(name):
    for cell in json.loads(CHAPTER.read_text(encoding="utf-8"))["cells"]:
        for output in cell.get("outputs", []):
            html = "".join(output.get("data", {}).get("text/html", ""))
            match = re.fullmatch(r'<script type="ojs-define">(.*)</script>', html)
            for entry in json.loads(match[1])["contents"] if match else []:
                if entry["name"] == name:
                    return entry["value"]
    raise AssertionError(f"the chapter hands no {name} to its page")


class TestChapterSaysWhatItShows:
    """What the prose claims, held against the data that the chapter hands to its page."""

    def test_recorded_rounds(self):
        recorded = _chapter_payload("smc_rounds")
        n, grown = recorded["n_particles"], recorded["K"] + 1
        assert [record["resampled"] for record in recorded["rounds"]][:2] == [False, True]
        for record in recorded["rounds"]:
            assert len(record["contexts"]) == len(record["draft_blocks"]) == n
            assert set(record["lengths"]) == {len(record["contexts"][0]) + grown}
            best = max(range(n), key=lambda i: record["scored_weights"][i])
            if record["resampled"]:
                copies = [record["ancestors"].count(i) for i in range(n)]
                assert copies[best] == max(copies) > 1 and min(copies) == 0
        assert len(recorded["answer"]) == 1 + grown * len(recorded["rounds"])
        first, second, _ = recorded["rounds"]
        ratios, weights = second["block_ratios"], second["scored_weights"]
        assert ratios.index(max(ratios)) == weights.index(max(weights)) == 0
        # the sixth: a block that the target likes, and a weight that its first block spoiled
        assert ratios[5] > 2 and 5 not in second["ancestors"]
        assert first["block_ratios"][5] == min(first["block_ratios"]) < 0.2

    def test_divergence_dial(self):
        rows = _chapter_payload("divergence")["rows"]
        for former, latter in itertools.pairwise(rows):
            assert former["sd_tokens_per_pass"] > latter["sd_tokens_per_pass"]
            assert former["chi2_block"] < latter["chi2_block"]
            assert former["ess"] > latter["ess"]
        assert {row["smc_tokens_per_pass"] for row in rows} == {5}
        assert len({row["sampling_floor"] for row in rows}) == 1
        middle, slight, far = rows[5], rows[1], rows[10]
        assert middle["sampling_floor"] > 0.8 * middle["squared_error"]
        assert slight["predicted_squared_error"] < slight["sampling_floor"]
        assert far["squared_error"] < 4 * (1 + far["chi2_block"]) / far["n_particles"] / 3
        for row in rows:
            predicted = row["predicted_squared_error"]
            assert row["squared_error"] == pytest.approx(predicted, rel=0.05)
        halved = [row["ess"] < row["n_particles"] / 2 for row in rows]
        assert halved == [row["chi2_block"] > 1 for row in rows]


@pytest.mark.parametrize(
    ("exercise", "wrong"),
    [
        (ESS, lambda weights: 1 / sum(weight**2 for weight in weights)),
        (LOG_WEIGHTS, lambda logs: [math.exp(x) / sum(map(math.exp, logs)) for x in logs]),
        (TWO_PARTICLES, lambda p0, q0: p0),
        (FIRST_FIRE, lambda p, K: 0.7),
    ],
)
def test_exercises_refuse_the_obvious_mistake(exercise, wrong):
    """That the solutions pass is in the chapter's outputs."""
    assert not exercise.passes(wrong) and not exercise.passes(lambda *_: None)
