"""EAGLE: a draft that continues the target's own features, one token at a time.

The *feature* of a position is the input of the target's LM head. EAGLE's draft head takes a feature and the token that
was chosen after it, and predicts the next feature; the target's own LM head reads the next token off. So the draft
needs no vocabulary of its own, and its guesses form a chain: each knows the one before it.

Source: Li et al. 2024, *EAGLE: Speculative Sampling Requires Rethinking Feature Uncertainty*.
"""

from collections.abc import Iterable
from functools import cache
from typing import NamedTuple, TypedDict

import torch
from torch import Tensor, nn
from torch.nn.functional import smooth_l1_loss

from specdec.checks import check_at_least, check_prompt, check_tokens
from specdec.generation import check_room, evaluating, generate
from specdec.training import draw_windows, next_token_loss, train
from specdec.transformer import Block, GPTModel, KVCache, causal_mask, initialise_portably
from specdec.tree import acceptance_of_chains, greedy_continuations, verify_tree_greedy

__all__ = [
    "ChainDraft",
    "ChainLink",
    "ChainVerification",
    "DraftState",
    "DraftedBatch",
    "EagleDemo",
    "EagleDraftHead",
    "EagleDrafter",
    "FeatureUncertainty",
    "GPTModel",
    "acceptance_by_depth",
    "chain_features",
    "chain_mask",
    "demo_contexts",
    "demo_drafter",
    "demo_text",
    "demonstrate_eagle",
    "draft_loss",
    "draft_state_after",
    "feature_uncertainty_demo",
    "target_greedy_next",
    "train_draft_head",
    "verify_chain_greedy",
]


class EagleDraftHead(nn.Module):
    """Fuse a feature with the token that followed it; one decoder block makes the next feature.

    Source: Li et al. 2024 (EAGLE), section 3.1.

    Args:
        dim: D, the target's embedding width.
        num_heads: H, of the block's attention; ``dim`` is a multiple of it.
        generator: draws the initial weights; None is torch's global generator.
    """

    def __init__(
        self, dim: int, num_heads: int, generator: torch.Generator | None = None
    ) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):  # torch's own draws are replaced at once
            self.fusion = nn.Linear(2 * dim, dim)
            self.block = Block(dim, num_heads)
        initialise_portably(self, generator)

    def fuse(self, features: Tensor, token_embeds: Tensor) -> Tensor:
        """Join features and token embeddings, (B, T, D) each, into the block's input."""
        return self.fusion(torch.cat([features, token_embeds], dim=-1))

    def forward(
        self,
        features: Tensor,
        token_embeds: Tensor,
        cache: KVCache | None = None,
        mask: Tensor | None = None,
    ) -> Tensor:
        """Predict the next feature at every position.

        Args:
            features: (B, T, D) feature of each position.
            token_embeds: (B, T, D) embedding of the token *after* each position.
            cache: holds the P fused positions seen before and takes in the new ones; None is an empty past.
            mask: (T, P + T) bool, who may look at whom; None is causal.

        Returns:
            (B, T, D), at each position the feature of the token that was fed in there.
        """
        fused = self.fuse(features, token_embeds)
        if mask is None:
            mask = causal_mask(fused.shape[1], cache.length if cache is not None else 0)
        return self.block(fused, mask, cache)


class ChainLink(TypedDict):
    """One step of the draft head."""

    feature: list[
        float
    ]  # (D,) of the last position: the target's own at the first link, then predicted
    fed_token: int  # the token that was chosen after that position
    fused: list[float]  # (D,) both, joined by the fusion layer
    next_feature: list[float]  # (D,) the head's prediction
    law: list[float]  # (V,) the target's LM head on it, as probabilities
    token: int  # the likeliest


class ChainDraft(TypedDict):
    """A drafted chain and what happened on the way, link by link. Everything is plain numbers."""

    draft_tokens: list[int]  # (L,) the first is the target's own next token
    confidences: list[float]  # (L,) the probability that each token was chosen with
    links: list[ChainLink]  # (L − 1,) how each token after the first came about


class DraftedBatch(NamedTuple):
    """Chains of L tokens for B texts of T tokens."""

    tokens: Tensor  # (B, L)
    laws: Tensor  # (B, L, V) that each token is the likeliest of
    features: Tensor  # (B, T + L − 1, D) the target's own up to T, then predicted
    followers: (
        Tensor  # (B, T + L − 2) the token that was fed in after each position but the last
    )


class EagleDrafter(nn.Module):
    """A target and its draft head. Of the two only ``head`` is trained; the target is frozen here.

    Args:
        gpt: the target. Its parameters stop requiring gradients.
        num_heads: of the draft head's attention.
        generator: draws the head's initial weights.
    """

    def __init__(
        self, gpt: GPTModel, num_heads: int, generator: torch.Generator | None = None
    ) -> None:
        super().__init__()
        embedding = gpt.token_embedding.weight
        self.gpt = gpt.requires_grad_(False)
        self.head = EagleDraftHead(embedding.shape[1], num_heads, generator).to(
            embedding.dtype
        )

    def features(
        self,
        ids: Tensor,
        cache: KVCache | None = None,
        mask: Tensor | None = None,
        positions: Tensor | None = None,
    ) -> Tensor:
        """The target's features (B, T, D) of token ids (B, T); see :meth:`GPTModel.features`."""
        return self.gpt.features(ids, cache, mask, positions)

    def lm_head(self, features: Tensor) -> Tensor:
        """The target's logits (…, V) on features (…, D), its own or predicted ones."""
        return self.gpt.lm_head(features)

    def token_embed(self, ids: Tensor) -> Tensor:
        """The target's embeddings (…, D) of token ids (…)."""
        return self.gpt.token_embedding(ids)

    def draft(
        self, ids: Tensor, length: int, pinned_token: int | None = None
    ) -> DraftedBatch:
        """Draft ``length`` tokens after each of the texts ``ids`` (B, T), greedily.

        The first is the target's own next token, which its last pass has paid for; the draft head guesses the others.

        Args:
            ids: at least one token each.
            length: at least 1.
            pinned_token: fed back at every link in place of the token that was drafted there. For experiments: it shows
                what the draft is worth without the token one step ahead.

        Raises:
            ValueError: ``length`` below 1, or a token outside the vocabulary.
        """
        check_at_least(length, 1, "length")
        if pinned_token is not None:
            check_tokens(torch.tensor([pinned_token]), self.gpt.vocab_size, "pinned_token")
        with evaluating(self), torch.no_grad():
            features = self.features(ids)  # (B, T, D)
            followers = ids[:, 1:]
            laws = [torch.softmax(self.lm_head(features[:, -1]), dim=-1)]  # each (B, V)
            while len(laws) < length:
                fed = laws[-1].argmax(dim=-1, keepdim=True)  # (B, 1)
                if pinned_token is not None:
                    fed = torch.full_like(fed, pinned_token)
                followers = torch.cat([followers, fed], dim=1)
                predicted = self.head(features, self.token_embed(followers))[:, -1:]
                features = torch.cat([features, predicted], dim=1)
                laws.append(torch.softmax(self.lm_head(predicted[:, 0]), dim=-1))
        laws = torch.stack(laws, dim=1)
        return DraftedBatch(laws.argmax(dim=-1), laws, features, followers)

    def draft_chain(
        self, ids: Tensor | list[int], length: int, pinned_token: int | None = None
    ) -> ChainDraft:
        """Draft after one text and tell what happened: see :meth:`draft`.

        Args:
            ids: the text so far, (T,) or (1, T), at least one token.
            length, pinned_token: as for :meth:`draft`.

        Raises:
            ValueError: no text, more than one text, ``length`` below 1, or a token outside the vocabulary.
        """
        ids = _one_text(ids)
        drafted = self.draft(ids[None], length, pinned_token)
        features, followers = drafted.features[0], drafted.followers[0]
        with torch.no_grad():
            fused = self.head.fuse(features[:-1], self.token_embed(followers))
        links = [
            ChainLink(
                feature=features[place].tolist(),
                fed_token=int(followers[place]),
                fused=fused[place].tolist(),
                next_feature=features[place + 1].tolist(),
                law=drafted.laws[0, link].tolist(),
                token=int(drafted.tokens[0, link]),
            )
            for link, place in enumerate(range(len(ids) - 1, len(followers)), start=1)
        ]
        return ChainDraft(
            draft_tokens=drafted.tokens[0].tolist(),
            confidences=drafted.laws[0].max(dim=-1).values.tolist(),
            links=links,
        )


class DraftState:
    """The draft head beside a text that grows: a path oracle for the tokens that may come next.

    The text's last token is the *root*: chosen already, not yet seen by the target. Called with a path of tokens below
    the root, the state answers with the head's guesses for the token after it. The fused positions of the text are
    cached; those of a path are dropped again after each call.

        state = DraftState(drafter)
        state.observe(features, followers)      # what the target has seen, and the tokens that followed
        state([])                               # [(token, confidence), …] for the token after the root
        state([3, 7])                           # … after the root, 3 and 7
    """

    def __init__(self, drafter: EagleDrafter) -> None:
        self._drafter = drafter
        self._cache = KVCache()
        self._predicted: dict[tuple[int, ...], Tensor] = {}  # path -> (D,)

    def observe(self, features: Tensor, followers: Tensor) -> None:
        """Take in positions that the target has seen: their features (T, D) and the token after each (T,).

        The last follower becomes the root. What was predicted below the old one is forgotten.
        """
        predicted = self._predict(features, followers)
        self._predicted = {(): predicted[-1]}

    @property
    def length(self) -> int:
        """How many positions of the text it holds."""
        return self._cache.length

    def feature(self, path: Iterable[int]) -> Tensor:
        """The predicted feature (D,) of the last token of ``path``, of the root if it is empty."""
        path = tuple(path)
        if path not in self._predicted:
            features = [self.feature(path[:steps]) for steps in range(len(path))]
            held = self._cache.length
            predicted = self._predict(torch.stack(features), torch.tensor(path))
            self._cache.truncate(held)
            self._predicted[path] = predicted[-1]
        return self._predicted[path]

    def __call__(self, path: list[int]) -> list[tuple[int, float]]:
        """All V tokens, each with the head's probability of it after ``path``."""
        if not self._predicted:
            raise ValueError("observe a text before asking what follows it")
        law = torch.softmax(self._drafter.lm_head(self.feature(path)), dim=-1)
        return list(enumerate(law.tolist()))

    def _predict(self, features: Tensor, followers: Tensor) -> Tensor:
        """(T, D) features and (T,) tokens after them to the (T, D) next features."""
        drafter = self._drafter
        with evaluating(drafter), torch.no_grad():
            return drafter.head(
                features[None], drafter.token_embed(followers)[None], self._cache
            )[0]


def draft_state_after(
    drafter: EagleDrafter, ids: Tensor | list[int]
) -> tuple[DraftState, int]:
    """Let the target read a text and say its next token: a draft state with that root.

    Args:
        drafter: the target and its draft head.
        ids: the text so far, (T,) or (1, T), at least one token.

    Returns:
        (state, root)
    """
    ids, state = _one_text(ids), DraftState(drafter)
    with evaluating(drafter), torch.no_grad():
        features = drafter.features(ids[None])[0]  # (T, D)
        root = drafter.lm_head(features[-1]).argmax()
    state.observe(features, torch.cat([ids[1:], root[None]]))
    return state, int(root)


def target_greedy_next(gpt: GPTModel, ids: Tensor | list[int]) -> int:
    """The token that the target itself says next: the likeliest, of the lowest id among equals.

    Args:
        gpt: the target.
        ids: the text so far, (T,) or (1, T), at least one token.
    """
    with evaluating(gpt), torch.no_grad():
        return int(gpt(_one_text(ids)[None])[0, -1].argmax())


class ChainVerification(TypedDict):
    """What one greedy verification emitted, beside what plain greedy decoding says."""

    accepted_len: int
    emitted: list[int]  # the accepted tokens and one of the target's own
    greedy_reference: list[int]  # as many tokens of plain greedy decoding
    matches_greedy: bool


def verify_chain_greedy(
    gpt: GPTModel, context: Tensor | list[int], draft: list[int]
) -> ChainVerification:
    """Verify a chain in one pass of the target: keep what it says itself, add its next.

    A chain is a tree of width one, so this is :func:`specdec.tree.verify_tree_greedy`. Whatever the draft, the emitted
    tokens are those of greedy decoding.

    Args:
        gpt: the target.
        context: the text so far, (T,) or (1, T), at least one token.
        draft: guesses for the next tokens; may be empty.

    Raises:
        ValueError: no context, a token outside the vocabulary, or a text that doesn't fit the target's window.
    """
    ids = _one_text(context)
    guesses = torch.tensor(draft, dtype=torch.long)
    check_tokens(guesses, gpt.vocab_size, "draft")
    with evaluating(gpt), torch.no_grad():
        logits = gpt(torch.cat([ids, guesses])[None])[0, len(ids) - 1 :]  # (L + 1, V)
    root_next, *node_next = logits.argmax(dim=-1).tolist()
    chain = {"tokens": list(draft), "parents": list(range(-1, len(draft) - 1))}
    verified = verify_tree_greedy(chain, root_next, node_next)
    check_room(len(ids), len(verified["emitted"]), gpt.max_seq_len)
    reference = generate(gpt, ids, len(verified["emitted"]), temperature=0).tokens
    return ChainVerification(
        accepted_len=verified["accepted_len"],
        emitted=verified["emitted"],
        greedy_reference=reference,
        matches_greedy=verified["emitted"] == reference,
    )


def chain_features(
    drafter: EagleDrafter, features: Tensor, ids: Tensor, links: int = 1
) -> list[Tensor]:
    """Predict features of texts from true ones, and on from what was predicted.

    Link 1 continues the true features: training on it alone is teacher forcing. Link j continues what link j − 1
    predicted, as a chain does when it is drafted: training on several links is free-running. All positions of the text
    start a chain at once. In link j a position may look at the true positions up to where its chain began, and at its
    own chain since; a mask over the cached positions of all links says so.

    Source: Li et al. 2025 (EAGLE-3), section 3.2, which calls training on one's own predictions training-time test.

    Args:
        drafter: whose head predicts.
        features: (B, T, D) the true ones of ``ids``.
        ids: (B, T), the texts.
        links: at least 1.

    Returns:
        ``links`` tensors; number j, counted from 1, is (B, T − j, D): predictions for positions j to T − 1.
    """
    check_at_least(links, 1, "links")
    features, embeds = features[:, :-1], drafter.token_embed(ids[:, 1:])
    time, cache, chains = features.shape[1], KVCache(), []
    for link in range(links):
        predicted = drafter.head(features, embeds, cache, chain_mask(time, link))
        chains.append(predicted[:, link:])
        features = torch.cat([features[:, :1], predicted[:, :-1]], dim=1)
    return chains


def chain_mask(time: int, link: int) -> Tensor:
    """(T, (link + 1) · T): who looks at whom in pass number ``link``, counted from 0.

    At position i the true features end at i − link; the chain passed position i − link + s in pass s.
    """
    offset = torch.arange(time) - torch.arange(time)[:, None]  # (T, T) key minus query
    passed = [offset == step - link for step in range(1, link + 1)]
    return torch.cat([offset <= -link, *passed], dim=1)


def train_draft_head(
    drafter: EagleDrafter,
    text: Tensor,
    steps: int,
    links: int = 1,
    window: int = 32,
    batch: int = 16,
    feature_weight: float = 1.0,
    token_weight: float = 0.1,
    learning_rate: float = 3e-3,
    generator: torch.Generator | None = None,
    progress: str | None = None,
) -> list[float]:
    """Train the draft head on a text (N,); the target stays as it is.

    Args:
        drafter: whose head is trained.
        text: the windows of ``window`` tokens are cut from here, ``batch`` a step.
        steps: of the optimiser.
        links: 1 is teacher forcing, more is free-running; see :func:`chain_features`.
        feature_weight, token_weight: see :func:`draft_loss`.
        learning_rate, progress: see :func:`specdec.training.train`.
        generator: draws the windows.

    Returns:
        (steps,) losses.
    """

    def loss() -> Tensor:
        ids = draw_windows(text, batch, window, generator)
        features = drafter.features(ids)
        predictions = chain_features(drafter, features, ids, links)
        return draft_loss(drafter, features, predictions, feature_weight, token_weight)

    return train(loss, drafter.head.parameters(), steps, learning_rate, progress=progress)


def draft_loss(
    drafter: EagleDrafter,
    features: Tensor,
    predictions: list[Tensor],
    feature_weight: float = 1.0,
    token_weight: float = 0.1,
) -> Tensor:
    """How far predicted features, and the laws read off them, miss the target's.

    Smooth L1 on the features, cross-entropy of the drafted law against the target's own; summed by weight and
    averaged over positions and links.

    Source: Li et al. 2024 (EAGLE), section 3.2, with its weights as defaults.

    Args:
        drafter: whose head is trained.
        features: (B, T, D) the target's own.
        predictions: for each link j, counted from 1, (B, T − j, D): what it says of positions j to T − 1.
        feature_weight, token_weight: how much either counts.
    """
    laws = torch.softmax(drafter.lm_head(features), dim=-1)  # (B, T, V)
    total = torch.zeros((), dtype=features.dtype)
    for link, predicted in enumerate(predictions, start=1):
        surprise = -torch.log_softmax(drafter.lm_head(predicted), dim=-1)  # (B, T − j, V)
        token_loss = (laws[:, link:] * surprise).sum(dim=-1).mean()
        feature_loss = smooth_l1_loss(predicted, features[:, link:])
        total = total + feature_weight * feature_loss + token_weight * token_loss
    return total / len(predictions)


class FeatureUncertainty(TypedDict):
    """The errors of two predictors of the next feature, over the two tokens that may be sampled."""

    blind_worst: (
        float  # mean squared error of the best token-blind prediction, on its worse branch
    )
    blind_must_err: bool
    aware_worst: float
    aware_is_exact: bool
    feature: list[float]  # (4,) the feature that both branches share
    branches: list[list[float]]  # (2, 4) the next feature after either token
    blind: list[float]  # (4,) the midpoint


def feature_uncertainty_demo() -> FeatureUncertainty:
    """Show with two vectors that a feature alone doesn't determine the next one.

    After one and the same feature either of two tokens may be sampled, and each leads to its own next feature. Whoever
    sees the feature only must say the same for both; the midpoint is the best that can be said, and it misses either.
    Whoever sees the token too can be right on both.

    Source: Li et al. 2024 (EAGLE), section 1, the uncertainty that the method is named for.
    """
    generator = torch.Generator().manual_seed(0)
    feature, *branches = (torch.randn(4, generator=generator) for _ in range(3))
    blind = (branches[0] + branches[1]) / 2
    blind_worst = max(_mean_squared(blind - branch) for branch in branches)
    aware = {
        token: branch for token, branch in enumerate(branches)
    }  # a function of the token
    aware_worst = max(_mean_squared(aware[token] - branches[token]) for token in range(2))
    return FeatureUncertainty(
        blind_worst=blind_worst,
        blind_must_err=blind_worst > 0,
        aware_worst=aware_worst,
        aware_is_exact=aware_worst == 0,
        feature=feature.tolist(),
        branches=[branch.tolist() for branch in branches],
        blind=blind.tolist(),
    )


class EagleDemo(TypedDict):
    """One draft of the trained demo, verified, and how the demo does over its whole text."""

    context: list[int]
    draft_tokens: list[int]  # (L,)
    true_continuation: list[int]  # (L,) of the text that the target was trained on
    accepted_len: int
    accept_rate_per_step: list[
        float
    ]  # (L,) how often the first j drafted tokens are all right
    emitted: list[int]
    greedy_reference: list[int]
    matches_greedy: bool


def demonstrate_eagle(draft_length: int = 8) -> EagleDemo:
    """Draft and verify with a target and a head that were trained on one short text.

    Half of the text is a phrase that comes back, half is noise of uniform symbols. The target has learnt it nearly by
    heart; the head knows the phrase, and guesses wrong now and then elsewhere.

    Args:
        draft_length: L, 1 to 20; the phrase goes on for 9 tokens after the context.

    Raises:
        ValueError: ``draft_length`` outside its range.
    """
    if check_at_least(draft_length, 1, "draft_length") > 20:
        raise ValueError(f"draft_length must be at most 20, got {draft_length}")
    drafter, text = demo_drafter(), demo_text().tolist()
    context, continuation = text[:3], text[3 : 3 + draft_length]
    draft = drafter.draft_chain(context, draft_length)["draft_tokens"]
    verified = verify_chain_greedy(drafter.gpt, context, draft)
    return EagleDemo(
        context=context,
        draft_tokens=draft,
        true_continuation=continuation,
        accepted_len=verified["accepted_len"],
        accept_rate_per_step=acceptance_by_depth(drafter, demo_contexts(), draft_length),
        emitted=verified["emitted"],
        greedy_reference=verified["greedy_reference"],
        matches_greedy=verified["matches_greedy"],
    )


def acceptance_by_depth(
    drafter: EagleDrafter, contexts: Tensor, length: int
) -> list[float]:
    """How often the first j tokens of a chain are all what the target says, for j = 1 to ``length``.

    The first token is the target's own, so the first rate is 1.

    Args:
        contexts: (B, T) texts to continue.
        length: of the chains, at least 1.
    """
    drafted = drafter.draft(contexts, length).tokens
    truth = greedy_continuations(drafter.gpt, contexts, length)
    return acceptance_of_chains(drafted, truth)["cumulative"]


DEMO_PHRASE = [7, 2, 13, 5, 9, 0, 14, 3, 11, 6, 1, 15]


@cache
def demo_drafter() -> EagleDrafter:
    """The trained target and head of the demos. Trained on the first call, which takes some seconds."""
    generator = torch.Generator().manual_seed(0)
    text = demo_text()
    gpt = GPTModel(16, 32, 4, 2, max_seq_len=48, generator=generator).double()

    def loss() -> Tensor:
        windows = draw_windows(text, 8, 33, generator)
        windows[0] = text[:33]  # so that it is sure of how a text begins
        return next_token_loss(gpt, windows)

    train(loss, gpt.parameters(), steps=300)
    drafter = EagleDrafter(gpt, 4, generator)
    train_draft_head(
        drafter, text, steps=250, window=24, batch=8, token_weight=1.0, generator=generator
    )
    return drafter.eval()


def demo_text() -> Tensor:
    """The demos' text: four times the phrase, each time with 20 symbols of noise after it. (128,)"""
    generator = torch.Generator().manual_seed(1)
    phrase = torch.tensor(DEMO_PHRASE)
    noise = torch.randint(16, (4, 20), generator=generator)
    return torch.cat([torch.cat([phrase, row]) for row in noise])


def demo_contexts() -> Tensor:
    """Every stretch of 20 symbols of the demos' text: (109, 20)."""
    return demo_text().unfold(0, 20, 1)


def _mean_squared(error: Tensor) -> float:
    return error.square().mean().item()


def _one_text(ids: Tensor | list[int]) -> Tensor:
    """A text given as (T,) or (1, T), as (T,)."""
    ids = torch.as_tensor(ids)
    if ids.dim() == 2 and ids.shape[0] != 1:
        raise ValueError(f"expected one text, (T,) or (1, T), got shape {tuple(ids.shape)}")
    return check_prompt(ids[0] if ids.dim() == 2 else ids)
