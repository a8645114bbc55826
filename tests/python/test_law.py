"""The output law of speculative sampling is the target's: every branch walked, nothing sampled."""

import itertools
from collections.abc import Callable

import pytest
import torch
from conftest import context_step, probs, seeded

from specdec import speculative
from specdec.enumeration import Law, autoregressive_law, law_distance, output_law
from specdec.randomness import accept, categorical
from specdec.speculative import (
    draft_block,
    score_block,
    speculative_decode,
    speculative_verify,
)

PROMPTS = ([0], [1, 0], [0, 1, 1, 0])
CASES = [
    (vocab_size, gamma, kind, prompt, repeat)
    for vocab_size, gamma in itertools.product((2, 3, 4), (0, 1, 2, 3))
    for kind in (
        "random",
        "draft misses support",
        "target misses support",
        "draft is the target",
    )
    for prompt in PROMPTS
    for repeat in range(2)
    # the widest trees take seconds each: one of each kind is enough
    if vocab_size**gamma < 27 or (prompt == [0] and repeat == 0)
]


def _pair(vocab_size: int, kind: str, seed: int):
    generator = seeded(seed)
    target = context_step(
        vocab_size, generator, missing_support=kind == "target misses support"
    )
    if kind == "draft is the target":
        return target, target
    return target, context_step(
        vocab_size, generator, missing_support=kind == "draft misses support"
    )


def _decode_law(target, draft, gamma: int, prompt: list[int], n_tokens: int = 2) -> Law:
    return output_law(
        lambda walker: speculative_decode(
            prompt, target, draft, gamma, n_tokens, generator=walker
        )[0]
    )


def test_there_are_at_least_200_cases():
    assert len(CASES) >= 200


@pytest.mark.parametrize(("vocab_size", "gamma", "kind", "prompt", "repeat"), CASES)
def test_decode_emits_the_targets_law(vocab_size, gamma, kind, prompt, repeat):
    target, draft = _pair(vocab_size, kind, seed=1000 * vocab_size + 100 * gamma + repeat)
    law = _decode_law(target, draft, gamma, prompt)
    assert sum(law.values()) == pytest.approx(1, abs=1e-12)
    assert law_distance(law, autoregressive_law(target, prompt, 2)) < 1e-9


@pytest.mark.parametrize("vocab_size", [2, 3, 4])
@pytest.mark.parametrize("gamma", [0, 1, 2, 3])
@pytest.mark.parametrize("seed", range(17))
def test_verify_emits_the_targets_law(vocab_size, gamma, seed):
    """One block: the first emitted token, and every later one given that it is emitted, have the target's law."""
    target, draft = _pair(vocab_size, ["random", "draft misses support"][seed % 2], seed)
    context = torch.tensor(PROMPTS[seed % 3])

    def emit(walker):
        draft_tokens, draft_rows = draft_block(context, draft, gamma, walker)
        target_probs = score_block(context, draft_tokens, target)
        draft_probs = torch.stack(draft_rows) if draft_rows else target_probs[:0]
        return speculative_verify(target_probs, draft_probs, draft_tokens, walker)[0]

    law = output_law(emit)
    for length in range(1, gamma + 2):
        # P(the block begins with these tokens) must be P(at least this long and accepted so far) times p(last).
        for tokens in {output[:length] for output in law if len(output) >= length}:
            long_enough = {
                output: weight for output, weight in law.items() if len(output) >= length
            }
            begins = sum(
                weight
                for output, weight in long_enough.items()
                if output[:length] == tokens
            )
            reaches = sum(
                weight
                for output, weight in long_enough.items()
                if output[: length - 1] == tokens[:-1]
            )
            row = target(torch.tensor([*context.tolist(), *tokens[:-1]]))
            assert begins == pytest.approx(reaches * row[tokens[-1]].item(), abs=1e-9)


def _one_token_law(p, q, verify: Callable) -> list[float]:
    """The law of the first token when one draft from ``q`` is verified against ``p`` by ``verify(draft, walker)``."""
    law = output_law(lambda walker: verify(categorical(q, walker), walker))
    return [law.get(token, 0.0) for token in range(len(p))]


def _first_token(p, q):
    def verify(draft, walker):
        return speculative_verify(torch.stack([p, p]), q[None], draft, walker)[0][0].item()

    return verify


P, Q = probs(0.5, 0.3, 0.2), probs(0.2, 0.3, 0.5)


def _law_of_n_accepted(p, q) -> Law:
    rows, drafts = torch.stack([p, p]), q[None]
    return output_law(
        lambda walker: speculative_verify(rows, drafts, categorical(q, walker), walker)[1]
    )


def test_known_law_and_acceptance():
    assert _one_token_law(P, Q, _first_token(P, Q)) == pytest.approx(P.tolist(), abs=1e-12)
    assert _law_of_n_accepted(P, Q) == pytest.approx({1: 0.7, 0: 0.3}, abs=1e-12)


def test_draft_equal_to_target_is_always_accepted():
    assert _law_of_n_accepted(P, P) == pytest.approx({1: 1.0}, abs=1e-12)


def test_deterministic_draft_is_exact_with_a_one_hot_q():
    p, one_hot = probs(0.3, 0.5, 0.2), probs(1, 0, 0)
    assert _one_token_law(p, one_hot, _first_token(p, one_hot)) == pytest.approx(
        p.tolist(), abs=1e-12
    )


class TestNegativeControls:
    """Each wrong rule is the real code with one thing broken, and the enumerator sees it."""

    def test_residual_replaced_by_p(self, monkeypatch):
        monkeypatch.setattr(speculative, "residual_distribution", lambda p, q: p)
        law = _one_token_law(P, Q, _first_token(P, Q))
        assert law == pytest.approx([0.35, 0.39, 0.26], abs=1e-12)
        assert law != pytest.approx(P.tolist(), abs=1e-9)

    def test_every_draft_accepted(self, monkeypatch):
        monkeypatch.setattr(speculative, "accept", lambda prob, generator: (True, 0.0))
        law = _one_token_law(P, Q, _first_token(P, Q))
        assert law == pytest.approx(Q.tolist(), abs=1e-12)

    def test_accept_ratio_one_per_cent_too_large(self, monkeypatch):
        monkeypatch.setattr(
            speculative,
            "accept",
            lambda prob, generator: accept(min(1.0, 1.01 * prob), generator),
        )
        law = _one_token_law(P, Q, _first_token(P, Q))
        assert max(abs(got - p) for got, p in zip(law, P.tolist(), strict=True)) > 1e-3

    def test_deterministic_draft_with_the_softmax_in_the_rule(self):
        p, softmax_q = probs(0.3, 0.5, 0.2), probs(0.4, 0.35, 0.25)
        law = output_law(
            lambda walker: _first_token(p, softmax_q)(torch.tensor([0]), walker)
        )
        assert [law.get(token, 0.0) for token in range(3)] == pytest.approx(
            [0.75, 0.25, 0], abs=1e-12
        )

    @pytest.mark.parametrize(
        ("rule", "expected"), [("warped", [0.4, 0.6, 0]), ("raw", [0.5, 0.5, 0])]
    )
    def test_token_drawn_from_a_warped_q(self, rule, expected):
        p, raw, warped = probs(0.4, 0.6, 0), probs(0.5, 0.3, 0.2), probs(0.625, 0.375, 0)
        law = _one_token_law(
            p, warped, _first_token(p, warped if rule == "warped" else raw)
        )
        assert law == pytest.approx(expected, abs=1e-12)

    def test_decoding_with_each_wrong_rule_leaves_the_law(self, monkeypatch):
        """The check over whole decodes, too, can fail."""
        target, draft = _pair(3, "random", seed=5)
        reference = autoregressive_law(target, [0], 2)
        assert law_distance(_decode_law(target, draft, 2, [0]), reference) < 1e-9
        for name, wrong in {
            "residual_distribution": lambda p, q: p,
            "accept": lambda prob, generator: (True, 0.0),
        }.items():
            with monkeypatch.context() as patch:
                patch.setattr(speculative, name, wrong)
                assert law_distance(_decode_law(target, draft, 2, [0]), reference) > 1e-2

    def test_bonus_drawn_from_the_wrong_row(self, monkeypatch):
        target, draft = _pair(3, "draft is the target", seed=6)
        real = speculative.score_block

        def shifted(context, draft_tokens, step):
            rows = real(context, draft_tokens, step)
            return torch.cat([rows[:-1], rows[-2:-1]])

        monkeypatch.setattr(speculative, "score_block", shifted)
        assert (
            law_distance(
                _decode_law(target, draft, 1, [0]), autoregressive_law(target, [0], 2)
            )
            > 1e-2
        )
