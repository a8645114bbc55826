"""Medusa: heads that start as the LM head and look further ahead, exact trees, and the law of typical acceptance."""

import pytest
import torch
from conftest import context_step, probs, seeded
from hypothesis import given, settings
from hypothesis import strategies as st

from specdec import medusa
from specdec.enumeration import autoregressive_law, law_distance, output_law
from specdec.generation import generate
from specdec.medusa import (
    MedusaHead,
    MedusaModel,
    demo_contexts,
    demo_model,
    demo_text,
    demonstrate_medusa,
    draft_chains,
    expected_accepted_length,
    hit_rates,
    medusa_decode,
    medusa_loss,
    propose_candidates,
    train_heads,
    typical_decode,
    typical_threshold,
    verify_candidates,
    verify_tree_typical,
)
from specdec.randomness import categorical
from specdec.training import draw_windows, language_model_loss
from specdec.transformer import GPTModel
from specdec.tree import (
    build_candidate_tree,
    every_place,
    greedy_continuations,
    likeliest_places,
    sparse_candidate_tree,
    verify_tree_greedy,
)


def medusa_model(seed=0, num_heads=3, dtype=torch.float64):
    return MedusaModel(
        GPTModel(7, 12, 3, 2, 24, generator=seeded(seed)).to(dtype), num_heads
    )


class TestHeads:
    def test_an_untrained_head_is_the_lm_head(self):
        for dtype in (torch.float32, torch.float64):
            model = medusa_model(dtype=dtype)
            base, heads = model(torch.tensor([[1, 2, 3]]))
            assert base.dtype == dtype and base.shape == (1, 3, 7) and len(heads) == 3
            assert all(torch.equal(logits, base) for logits in heads)

    def test_the_formula(self):
        head = MedusaHead(4, 6, seeded(0)).double()
        assert head.w1.weight.abs().sum() == 0 == head.w1.bias.abs().sum()
        torch.nn.init.constant_(head.w1.weight, 0.3)
        features = torch.tensor([[0.5, -1.0, 2.0, 0.1]]).double()
        inner = head.w1(features)
        expected = head.w2(inner * torch.sigmoid(inner) + features)
        assert torch.allclose(head(features), expected, atol=1e-12)

    def test_only_the_heads_learn(self):
        model = medusa_model()
        before = {name: value.clone() for name, value in model.state_dict().items()}
        text = torch.arange(50) % 7
        losses = train_heads(model, lambda: draw_windows(text, 4, 10, seeded(0)), 20)
        changed = {
            name
            for name, value in model.state_dict().items()
            if not torch.equal(value, before[name])
        }
        assert changed and all(name.startswith("heads.") for name in changed)
        assert losses[-1] < losses[0]

    def test_heads_do_not_touch_the_global_generator_and_need_no_seed(self):
        one, other = medusa_model(), medusa_model()
        for name, value in one.state_dict().items():
            assert torch.equal(value, other.state_dict()[name])

    def test_sizes_below_one_are_errors(self):
        with pytest.raises(ValueError, match="num_heads"):
            medusa_model(num_heads=0)
        with pytest.raises(ValueError, match="dim"):
            MedusaHead(0, 5)


class TestLoss:
    def test_head_k_is_compared_with_the_token_k_plus_one_ahead(self):
        model = medusa_model(num_heads=2)
        windows = torch.tensor([[1, 2, 3, 4, 5], [6, 5, 4, 3, 2]])
        _, (one, two) = model(windows)
        by_hand = 0.8 * language_model_loss(one[:, :3], windows[:, 2:])
        by_hand = by_hand + 0.8**2 * language_model_loss(two[:, :2], windows[:, 3:])
        assert medusa_loss(model, windows).item() == pytest.approx(by_hand.item())

    def test_a_shift_by_one_would_be_caught(self):
        model = medusa_model(num_heads=1)
        windows = torch.tensor([[1, 2, 3, 4, 5]])
        _, (one,) = model(windows)
        shifted = 0.8 * language_model_loss(one[:, :4], windows[:, 1:])
        assert abs(medusa_loss(model, windows).item() - shifted.item()) > 1e-3

    def test_windows_must_reach_the_last_head(self):
        with pytest.raises(ValueError, match="at least 5"):
            medusa_loss(medusa_model(num_heads=3), torch.zeros(1, 4).long())


class TestDrafting:
    def test_chains_and_candidates_are_the_likeliest_of_target_and_heads(self):
        model = medusa_model()
        torch.nn.init.normal_(model.heads[1].w1.weight, generator=seeded(1))
        contexts = torch.tensor([[1, 2, 3], [0, 0, 6]])
        base, heads = model(contexts)
        rows = [base[:, -1], *(logits[:, -1] for logits in heads)]
        expected = torch.stack([row.argmax(dim=-1) for row in rows], dim=1)
        assert torch.equal(draft_chains(model, contexts), expected)
        ranked = [row[0].topk(2).indices.tolist() for row in rows]
        assert propose_candidates(model, [1, 2, 3], [2, 2, 2, 2]) == ranked

    def test_hit_rates_count_agreement_with_the_targets_own_words(self):
        model = demo_model()
        rates = hit_rates(model, demo_contexts(), 16)
        assert [sum(level) for level in rates] == pytest.approx(
            [1.0] * 3
        )  # some rank is right
        assert [level[0] for level in rates] == pytest.approx(
            demonstrate_medusa()["head_accuracy"]
        )

    @pytest.mark.parametrize("widths", [[1] * 5, [0], [8]])
    def test_widths_that_can_not_be_are_errors(self, widths):
        with pytest.raises(ValueError, match="width"):
            propose_candidates(medusa_model(), [1, 2], widths)


class TestDecoding:
    @pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
    @pytest.mark.parametrize("widths", [[1], [2, 2], [3, 1, 2]])
    @pytest.mark.parametrize("seed", range(10))
    def test_writes_what_greedy_decoding_writes(self, seed, widths, dtype):
        model = medusa_model(seed, dtype=dtype)
        for head in model.heads:
            torch.nn.init.normal_(head.w1.weight, generator=seeded(seed))
        plain = generate(
            model.gpt, [seed % 7, 3], 15, temperature=0, stop_tokens=[seed % 4]
        )
        run = medusa_decode(model, [seed % 7, 3], 15, every_place(widths), [seed % 4])
        assert (run.tokens, run.finish_reason) == tuple(plain)

    def test_on_the_demo_it_takes_fewer_passes_than_tokens(self):
        model, prompt = demo_model(), demo_text()[:6].tolist()
        plain = generate(model.gpt, prompt, 18, temperature=0).tokens
        run = medusa_decode(model, prompt, 18, every_place([1, 1, 1]))
        assert run.tokens == plain
        assert run.tokens_per_pass > 2

    def test_places_beyond_the_heads_are_errors(self):
        with pytest.raises(ValueError, match="heads"):
            medusa_decode(medusa_model(num_heads=1), [1], 5, every_place([1, 1]))

    @settings(max_examples=25, deadline=None)
    @given(
        seed=st.integers(0, 50),
        context=st.lists(st.integers(0, 6), min_size=2, max_size=8),
        candidates=st.lists(
            st.lists(st.integers(0, 6), min_size=1, max_size=3), max_size=3
        ),
    )
    def test_one_verification_equals_greedy(self, seed, context, candidates):
        model = medusa_model(seed)
        record = verify_candidates(model.gpt, context, build_candidate_tree(candidates))
        emitted = record["emitted"]
        assert emitted == generate(model.gpt, context, len(emitted), temperature=0).tokens


class TestContract:
    @pytest.mark.parametrize(("decay", "tokens"), [(0.9, 3.72), (0.7, 2.19), (0.5, 1.64)])
    def test_expected_length_under_decay(self, decay, tokens):
        assert expected_accepted_length([decay**k for k in range(1, 6)]) == pytest.approx(
            tokens, abs=5e-3
        )

    def test_expected_length_at_the_ends(self):
        assert expected_accepted_length([]) == 1.0
        assert expected_accepted_length([1.0] * 4) == 5.0
        assert expected_accepted_length([0.6, 0.0, 1.0]) == 1.6
        with pytest.raises(ValueError, match="probs"):
            expected_accepted_length([0.5, 1.5])

    def test_deeper_heads_pay_less_and_less(self):
        """At decay .7 the fourth head adds .028 tokens, the fifth .005."""
        lengths = [
            expected_accepted_length([0.7**k for k in range(1, n + 1)]) for n in range(6)
        ]
        assert round(lengths[4] - lengths[3], 3) == 0.028
        assert round(lengths[5] - lengths[4], 3) == 0.005

    @pytest.mark.parametrize("root_width", [1, 2, 3])
    def test_demo(self, root_width):
        demo = demonstrate_medusa(root_width)
        assert demo["matches_greedy"] is True
        assert demo["emitted"] == demo["greedy_reference"]
        assert len(demo["head_accuracy"]) == 3
        assert demo["tree"]["parents"].count(-1) == root_width
        assert (
            len(demo["tree"]["tokens"]) == 4 * root_width
        )  # a chain of three below each root
        assert demo["accepted_len"] == len(demo["accepted_nodes"]) == 3

    def test_a_wider_root_leaves_the_text_alone(self):
        texts = [demonstrate_medusa(width)["emitted"] for width in (1, 2, 3, 4)]
        assert texts == [texts[0]] * 4

    def test_accuracy_really_falls_with_the_head(self):
        acceptance = demonstrate_medusa()["acceptance"]
        for rates in (
            acceptance["own"],
            acceptance["given_shallower"],
            acceptance["cumulative"],
        ):
            assert rates == sorted(rates, reverse=True) and rates[0] - rates[-1] > 0.1

    def test_every_greedy_choice_of_the_demo_is_clear(self):
        """Margins far above what differs between CPUs, along all greedy continuations the demo looks at."""
        model, contexts = demo_model(), demo_contexts()
        texts = torch.cat([contexts, greedy_continuations(model.gpt, contexts, 5)], dim=1)
        with torch.no_grad():
            base, heads = model(texts)
        for logits in [base[:, 5:], *(row[:, 5:6] for row in heads)]:
            best, second = logits.topk(2).values.unbind(-1)
            assert (best - second).min() > 1e-6


def _one_guess(q):
    """Propose one token, drawn from a fixed law."""

    def propose(tokens, generator):
        return {"tokens": categorical(q, generator).tolist(), "parents": [-1]}

    return propose


def _law_of_first(p, q, epsilon, delta):
    law = output_law(
        lambda walker: typical_decode(
            [0], lambda tokens: p, _one_guess(q), 1, epsilon, delta, walker
        )
    )
    return [law.get((token,), 0.0) for token in range(len(p))]


class TestTypicalAcceptance:
    def test_threshold(self):
        flat, peaked = probs(0.25, 0.25, 0.25, 0.25), probs(1.0, 0.0, 0.0, 0.0)
        assert typical_threshold(flat, 1.0, 1.0) == pytest.approx(0.25)
        assert typical_threshold(peaked, 0.3, 1.0) == pytest.approx(0.3)
        assert typical_threshold(flat, 0.09, 0.3) == pytest.approx(0.075)
        with pytest.raises(ValueError, match="epsilon"):
            typical_threshold(flat, -0.1, 0.3)

    @pytest.mark.parametrize("seed", range(20))
    def test_the_law_is_as_derived(self, seed):
        """A guess from q is kept if typical, else the target draws: q on the typical set, p for the rest."""
        generator = seeded(seed)
        p, q = (
            torch.softmax(
                2 * torch.randn(4, generator=generator, dtype=torch.float64), dim=0
            )
            for _ in range(2)
        )
        epsilon, delta = 0.1 + 0.4 * (seed % 3), 0.2 + 0.2 * (seed % 4)
        typical = p > typical_threshold(p, epsilon, delta)
        derived = torch.where(typical, q, 0.0) + q[~typical].sum() * p
        assert _law_of_first(p, q, epsilon, delta) == pytest.approx(
            derived.tolist(), abs=1e-12
        )

    def test_it_is_exact_where_nothing_is_typical_and_the_draft_where_everything_is(self):
        p, q = probs(0.5, 0.3, 0.2), probs(0.2, 0.3, 0.5)
        assert _law_of_first(p, q, epsilon=1.0, delta=100.0) == pytest.approx(
            p.tolist(), abs=1e-12
        )
        assert _law_of_first(p, q, epsilon=0.0, delta=1.0) == pytest.approx(
            q.tolist(), abs=1e-12
        )

    def test_a_kept_argmax_is_certain(self):
        """A deterministic guess that passes comes out always: the law is 1 − p(x) away from the target's."""
        p, always = probs(0.5, 0.3, 0.2), probs(1.0, 0.0, 0.0)
        law = _law_of_first(p, always, 0.09, 0.3)
        assert law == [1.0, 0.0, 0.0]
        assert 0.5 * sum(abs(a - b) for a, b in zip(law, p.tolist(), strict=True)) == 0.5

    @pytest.mark.parametrize("seed", range(4))
    def test_two_tokens_of_a_tree_on_a_target_with_memory(self, seed):
        """With the threshold out of reach the whole text has the target's law, at the paper's setting it hasn't."""
        generator = seeded(seed)
        target, draft = context_step(3, generator), context_step(3, generator)

        def propose(tokens, chance):
            top = draft(tokens).argsort(descending=True)[:2].tolist()
            return build_candidate_tree([top, top])

        def law(epsilon, delta):
            return output_law(
                lambda walker: typical_decode(
                    [0], target, propose, 2, epsilon, delta, walker
                )
            )

        exact = autoregressive_law(target, [0], 2)
        assert law_distance(law(1.0, 1e9), exact) < 1e-9
        assert law_distance(law(0.09, 0.3), exact) > 0.05

    def test_the_longest_typical_path_wins_and_the_first_of_equals(self):
        drafted = build_candidate_tree([[0, 1], [0, 1]])
        rows = (
            probs(0.5, 0.5, 0.0),
            torch.stack(
                [probs(0.0, 0.0, 1.0), probs(0.4, 0.6, 0.0)] + [probs(0.0, 0.0, 1.0)] * 4
            ),
        )
        verified = verify_tree_typical(drafted, *rows, generator=seeded(0))
        assert verified["accepted_nodes"] == [
            1,
            4,
        ]  # node 0 is typical, but nothing below it
        assert verified["emitted"] == [1, 0, 2]
        assert verified["thresholds"][:2] == pytest.approx([0.09, 0.09])

    def test_the_comparison_is_strict(self):
        """A token of probability 0 is never typical, even if the threshold is 0."""
        drafted = build_candidate_tree([[1]])
        verified = verify_tree_typical(
            drafted,
            probs(1.0, 0.0),
            probs(1.0, 0.0)[None],
            epsilon=0.0,
            generator=seeded(0),
        )
        assert verified["emitted"] == [0]

    def test_a_threshold_that_forgets_the_entropy_is_caught(self, monkeypatch):
        """Negative control for the derived law."""
        monkeypatch.setattr(
            medusa, "typical_threshold", lambda row, epsilon, delta: min(epsilon, delta)
        )
        p, q = probs(0.3, 0.3, 0.2, 0.2), probs(0.1, 0.2, 0.3, 0.4)
        typical = p > typical_threshold(p, 0.5, 0.9)
        derived = torch.where(typical, q, 0.0) + q[~typical].sum() * p
        law = _law_of_first(p, q, 0.5, 0.9)
        assert max(abs(a - b) for a, b in zip(law, derived.tolist(), strict=True)) > 1e-3

    def test_laws_must_fit_the_tree(self):
        with pytest.raises(ValueError, match="law"):
            verify_tree_typical(
                build_candidate_tree([[0, 1]]), probs(1.0, 0.0), probs(1.0, 0.0)[None]
            )


def test_the_likeliest_places_of_the_demo_are_walked_further_than_the_first_ones():
    """One round each after every context; in a run, where one round leads to the next, there is no such guarantee."""
    model, n_heads = demo_model(), 3
    contexts = demo_contexts()
    truth = greedy_continuations(model.gpt, contexts, 1 + n_heads).tolist()

    def accepted(places):
        total = 0
        for context, told in zip(contexts.tolist(), truth, strict=True):
            ranked = propose_candidates(model, context, [1, 3, 3, 3])[1:]
            drafted = sparse_candidate_tree(ranked, places)
            depths = [
                len(place)
                for place in sorted(places, key=lambda place: (len(place), place))
            ]
            following = [(told[2:] + [-1])[depth - 1] for depth in depths]
            total += verify_tree_greedy(drafted, told[1], following)["accepted_len"]
        return total

    likeliest = likeliest_places(hit_rates(model, contexts, 3), 5)
    assert accepted(likeliest) > accepted(every_place([3, 3, 3])[:5])
