"""EAGLE: the chain is what it says, training sees what drafting does, and the text is that of greedy decoding."""

import pytest
import torch
from conftest import seeded
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from specdec import eagle
from specdec.eagle import (
    DraftState,
    EagleDrafter,
    EagleDraftHead,
    GPTModel,
    acceptance_by_depth,
    chain_features,
    demo_contexts,
    demo_drafter,
    demo_text,
    demonstrate_eagle,
    draft_loss,
    draft_state_after,
    feature_uncertainty_demo,
    target_greedy_next,
    train_draft_head,
    verify_chain_greedy,
)
from specdec.generation import generate
from specdec.transformer import causal_mask
from specdec.tree import greedy_continuations


def drafter(seed=0, dtype=torch.float64):
    generator = seeded(seed)
    gpt = GPTModel(7, 12, 3, 2, 24, generator=generator).to(dtype)
    return EagleDrafter(gpt, 2, generator).eval()


@pytest.fixture(scope="module")
def demo():
    return demonstrate_eagle()


texts = st.lists(st.integers(0, 6), min_size=1, max_size=10)


class TestContract:
    def test_demo(self, demo):
        assert demo["context"] == [7, 2, 13]
        assert demo["true_continuation"] == [5, 9, 0, 14, 3, 11, 6, 1]
        assert demo["draft_tokens"] == demo["true_continuation"]
        assert demo["accepted_len"] == 8
        assert demo["emitted"] == demo["greedy_reference"] == [5, 9, 0, 14, 3, 11, 6, 1, 15]
        assert demo["matches_greedy"] is True

    def test_acceptance_really_falls_with_depth(self, demo):
        rates = demo["accept_rate_per_step"]
        assert len(rates) == 8 and rates[0] == 1.0
        assert all(
            deeper < shallower for shallower, deeper in zip(rates, rates[1:], strict=False)
        )
        assert rates[1] > 0.8 and rates[7] < 0.5

    def test_no_argmax_of_the_demo_hangs_by_a_thread(self, demo):
        model, contexts = demo_drafter(), demo_contexts()
        texts = torch.cat([contexts, greedy_continuations(model.gpt, contexts, 8)], dim=1)
        laws = torch.cat(
            [model.gpt(texts).softmax(dim=-1), model.draft(contexts, 8).laws], dim=1
        )
        best = laws.topk(2).values
        assert (best[..., 0] - best[..., 1]).min() > 1e-6

    @pytest.mark.parametrize("length", [1, 3, 20])
    def test_other_lengths(self, demo, length):
        other = demonstrate_eagle(length)
        assert len(other["draft_tokens"]) == length and other["matches_greedy"]
        assert other["true_continuation"] == demo_text()[3 : 3 + length].tolist()
        shared = min(length, 8)
        assert other["draft_tokens"][:shared] == demo["draft_tokens"][:shared]

    def test_feature_uncertainty(self):
        demo = feature_uncertainty_demo()
        assert f"{demo['blind_worst']:.4f}" == "0.1596"
        assert (demo["blind_must_err"], demo["aware_worst"], demo["aware_is_exact"]) == (
            True,
            0.0,
            True,
        )

    @pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
    def test_shapes_and_dtypes(self, dtype):
        model = drafter(dtype=dtype)
        ids = torch.tensor([[1, 2, 3], [4, 5, 6]])
        features, embeds = model.features(ids), model.token_embed(ids)
        assert (
            features.shape
            == embeds.shape
            == model.head(features, embeds).shape
            == (2, 3, 12)
        )
        assert model.lm_head(features).shape == (2, 3, 7)
        assert model.head(features, embeds).dtype == dtype
        assert isinstance(model.head, EagleDraftHead)
        assert model.head.fusion.weight.shape == (12, 24)

    def test_it_reads_the_targets_own_head_and_embedding(self):
        model = drafter()
        ids = torch.tensor([[1, 2, 3]])
        assert torch.equal(model.lm_head(model.features(ids)), model.gpt(ids))
        assert model.token_embed(ids) is not None
        trained = {
            id(parameter) for parameter in model.parameters() if parameter.requires_grad
        }
        assert trained == {id(parameter) for parameter in model.head.parameters()}


def test_no_prediction_from_the_feature_alone_beats_the_midpoint():
    """On the worse of the two branches; the midpoint is the best there is."""
    demo = feature_uncertainty_demo()
    branches = torch.tensor(demo["branches"], dtype=torch.float64)

    def worst(prediction):
        return (branches - prediction).square().mean(dim=1).max().item()

    assert worst(torch.tensor(demo["blind"])) == pytest.approx(
        demo["blind_worst"], rel=1e-6
    )
    for scale in (1e-3, 0.1, 1.0):
        offsets = scale * torch.randn(300, 4, generator=seeded(3), dtype=torch.float64)
        for offset in offsets:
            assert worst(branches.mean(dim=0) + offset) >= demo["blind_worst"] * (1 - 1e-6)
    assert worst(branches[0]) > demo["blind_worst"]


class TestVerification:
    @settings(max_examples=300, deadline=None)
    @given(
        seed=st.integers(0, 30),
        context=texts,
        draft=st.lists(st.integers(0, 6), max_size=8),
    )
    def test_any_draft_gives_greedy_text(self, seed, context, draft):
        gpt = drafter(seed).gpt
        verified = verify_chain_greedy(gpt, torch.tensor([context]), draft)
        plain = generate(gpt, context, 9, temperature=0).tokens
        assert verified["emitted"] == plain[: len(verified["emitted"])]
        assert verified["matches_greedy"]
        agreeing = 0
        while agreeing < len(draft) and draft[agreeing] == plain[agreeing]:
            agreeing += 1
        assert verified["accepted_len"] == agreeing == len(verified["emitted"]) - 1

    def test_a_right_draft_is_accepted_whole_and_a_wrong_one_not_at_all(self):
        for seed in range(20):
            gpt = drafter(seed).gpt
            plain = generate(gpt, [1, 2], 6, temperature=0).tokens
            assert verify_chain_greedy(gpt, [1, 2], plain[:5])["emitted"] == plain
            wrong = [(token + 1) % 7 for token in plain[:5]]
            assert verify_chain_greedy(gpt, [1, 2], wrong)["emitted"] == plain[:1]

    def test_the_check_can_fail(self, monkeypatch):
        """A verifier that trusts its first guess is told so by ``matches_greedy``."""

        def trusting(tree, root_next, node_next):
            return honest(tree, tree["tokens"][0], node_next)

        honest = eagle.verify_tree_greedy
        monkeypatch.setattr(eagle, "verify_tree_greedy", trusting)
        assert not all(
            verify_chain_greedy(drafter(seed).gpt, [1, 2], [4, 4])["matches_greedy"]
            for seed in range(5)
        )

    def test_target_greedy_next(self):
        gpt = drafter(3).gpt
        assert target_greedy_next(gpt, [1, 2]) == generate(gpt, [1, 2], 1, 0).tokens[0]
        assert target_greedy_next(gpt, torch.tensor([[1, 2]])) == target_greedy_next(
            gpt, [1, 2]
        )


class TestChain:
    def test_link_by_link(self):
        """Against the recipe written out: fuse, run the block over all positions, read off the LM head."""
        model, ids = drafter(4), [1, 2, 3]
        chain = model.draft_chain(ids, 5)
        features = model.features(torch.tensor([ids]))[0]
        tokens = [*ids, int(model.lm_head(features[-1]).argmax())]
        for link in chain["links"]:
            joined = torch.cat(
                [features, model.token_embed(torch.tensor(tokens[1:]))], dim=1
            )
            fused = model.head.fusion(joined)
            following = model.head.block(fused[None], causal_mask(len(fused)))[0, -1]
            law = model.lm_head(following).softmax(dim=-1)
            assert link["feature"] == pytest.approx(features[-1].tolist(), abs=1e-12)
            assert link["fused"] == pytest.approx(fused[-1].tolist(), abs=1e-12)
            assert link["next_feature"] == pytest.approx(following.tolist(), abs=1e-12)
            assert link["law"] == pytest.approx(law.tolist(), abs=1e-12)
            assert (link["fed_token"], link["token"]) == (tokens[-1], int(law.argmax()))
            features = torch.cat([features, following[None]])
            tokens.append(link["token"])
        assert chain["draft_tokens"] == tokens[3:] and len(chain["links"]) == 4
        assert chain["draft_tokens"][0] == target_greedy_next(model.gpt, ids)
        assert chain["confidences"][1:] == [max(link["law"]) for link in chain["links"]]

    def test_a_pinned_token_is_fed_at_every_link(self):
        chain = drafter(4).draft_chain([1, 2, 3], 5, pinned_token=6)
        assert [link["fed_token"] for link in chain["links"]] == [6] * 4

    def test_pinning_the_fed_token_spoils_the_trained_chain(self):
        demo = demonstrate_eagle()
        chain = demo_drafter().draft_chain(demo["context"], 8, pinned_token=0)
        right = [
            a == b for a, b in zip(chain["draft_tokens"], demo["draft_tokens"], strict=True)
        ]
        assert sum(right[2:]) <= 1

    @settings(max_examples=60, deadline=None)
    @given(
        seed=st.integers(0, 10), text=texts, paths=st.lists(texts, min_size=1, max_size=4)
    )
    def test_a_draft_state_answers_as_a_run_over_everything_does(self, seed, text, paths):
        model = drafter(seed)
        state, root = draft_state_after(model, text)
        assert root == target_greedy_next(model.gpt, text)
        for path in [*paths, [], paths[0]]:
            features = model.features(torch.tensor([text]))[0]
            followers = [*text[1:], root, *path]
            for count in range(len(text), len(followers) + 1):
                embeds = model.token_embed(torch.tensor(followers[:count]))
                following = model.head(features[None], embeds[None])[0, -1:]
                features = torch.cat([features, following])
            law = model.lm_head(features[-1]).softmax(dim=-1).tolist()
            assert [token for token, _ in state(path)] == list(range(7))
            assert [p for _, p in state(path)] == pytest.approx(law, abs=1e-10)
        assert state.length == len(text)

    def test_observing_in_pieces_is_observing_at_once(self):
        model, ids = drafter(5), torch.tensor([1, 2, 3, 4, 5, 6])
        features = model.features(ids[None, :5])[0]
        at_once, in_pieces = DraftState(model), DraftState(model)
        at_once.observe(features, ids[1:])
        for start, end in [(0, 2), (2, 3), (3, 5)]:
            in_pieces.observe(features[start:end], ids[start + 1 : end + 1])
            in_pieces([4, 4])  # what was asked in between leaves no trace
        assert torch.allclose(in_pieces.feature([2]), at_once.feature([2]), atol=1e-12)


class TestTraining:
    @pytest.mark.parametrize("links", [1, 2, 4])
    def test_training_sees_what_drafting_does(self, links):
        """The chains of all positions in parallel equal those drafted one by one."""
        model, ids = drafter(6), torch.randint(7, (2, 9), generator=seeded(0))
        features = model.features(ids)
        chains = chain_features(model, features, ids, links)
        for row in range(2):
            for start in range(1, 9):
                state = DraftState(model)
                state.observe(features[row, :start], ids[row, 1 : start + 1])
                for link in range(1, min(links, 9 - start) + 1):
                    path = ids[row, start + 1 : start + link].tolist()
                    assert torch.allclose(
                        chains[link - 1][row, start - 1], state.feature(path), atol=1e-12
                    )
        assert [chain.shape for chain in chains] == [
            (2, 8 - link, 12) for link in range(links)
        ]

    def test_the_mask_of_the_chains_matters(self, monkeypatch):
        model, ids = drafter(6), torch.randint(7, (2, 9), generator=seeded(0))
        right = chain_features(model, model.features(ids), ids, 3)
        monkeypatch.setattr(
            eagle, "chain_mask", lambda time, link: causal_mask(time).repeat(1, link + 1)
        )
        wrong = chain_features(model, model.features(ids), ids, 3)
        assert torch.equal(wrong[0], right[0])
        assert (wrong[1] - right[1]).abs().max() > 1e-3

    def test_loss(self):
        model, ids = drafter(7), torch.randint(7, (2, 6), generator=seeded(1))
        truth = model.features(ids)
        perfect = [truth[:, 1:], truth[:, 2:]]
        assert draft_loss(model, truth, perfect, token_weight=0).item() == 0
        laws = model.gpt(ids).softmax(dim=-1)
        entropies = -(laws * laws.log()).sum(dim=-1)
        assert draft_loss(
            model, truth, perfect[:1], token_weight=1
        ).item() == pytest.approx(entropies[:, 1:].mean().item())
        [predicted] = chain_features(model, truth, ids)
        ours = draft_loss(
            model, truth, [predicted], feature_weight=2, token_weight=0.5
        ).item()
        by_torch = 2 * nn.SmoothL1Loss()(
            predicted, truth[:, 1:]
        ) + 0.5 * nn.CrossEntropyLoss()(
            model.lm_head(predicted).flatten(0, 1), laws[:, 1:].flatten(0, 1)
        )
        assert ours == pytest.approx(by_torch.item())

    @pytest.mark.parametrize("links", [1, 3])
    def test_training_moves_the_head_only_and_lowers_the_loss(self, links):
        model, text = drafter(8), torch.randint(7, (60,), generator=seeded(2))
        before = {name: value.clone() for name, value in model.state_dict().items()}
        losses = train_draft_head(
            model, text, steps=40, links=links, window=12, batch=4, generator=seeded(3)
        )
        assert len(losses) == 40 and sum(losses[-5:]) < 0.7 * sum(losses[:5])
        moved = {
            name
            for name, value in model.state_dict().items()
            if not value.equal(before[name])
        }
        assert moved == {name for name in before if name.startswith("head.")}

    def test_weights_are_drawn_from_the_generator_alone(self):
        assert all(
            torch.equal(a, b)
            for a, b in zip(
                drafter(9).state_dict().values(),
                drafter(9).state_dict().values(),
                strict=True,
            )
        )

    def test_acceptance_by_depth(self):
        """Against verifying each draft by itself."""
        model = drafter(10)
        contexts = torch.randint(7, (40, 5), generator=seeded(4))
        accepted = [
            verify_chain_greedy(model.gpt, row, model.draft_chain(row, 4)["draft_tokens"])
            for row in contexts
        ]
        rates = [
            sum(verified["accepted_len"] >= depth for verified in accepted) / 40
            for depth in range(1, 5)
        ]
        assert acceptance_by_depth(model, contexts, 4) == pytest.approx(rates)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: drafter().draft_chain([], 3), "prompt must be"),
        (lambda: drafter().draft_chain([1], 0), "length must be"),
        (
            lambda: drafter().draft_chain([1], 3, pinned_token=7),
            r"pinned_token must lie in 0\.\.6",
        ),
        (lambda: drafter().draft_chain([9], 3), r"ids must lie in 0\.\.6"),
        (
            lambda: drafter().draft_chain(torch.tensor([[1], [2]]), 3),
            r"one text, \(T,\) or \(1, T\), got shape \(2, 1\)",
        ),
        (lambda: verify_chain_greedy(drafter().gpt, [1], [7]), r"draft must lie in 0\.\.6"),
        (lambda: verify_chain_greedy(drafter().gpt, [1] * 20, [2] * 5), "positions"),
        (
            lambda: train_draft_head(
                drafter(), torch.arange(7), 1, links=0, window=5, generator=seeded(0)
            ),
            "links must",
        ),
        (lambda: demonstrate_eagle(0), "draft_length must"),
        (lambda: demonstrate_eagle(21), "draft_length must be at most 20"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
