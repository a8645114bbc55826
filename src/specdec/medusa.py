"""Medusa: the target drafts for itself, with a few extra heads on its last hidden state.

Head k reads the same feature as the LM head and guesses k tokens further ahead. The guesses make a tree of candidates,
one pass of the target scores the whole tree, and the path on which the target agrees is kept.

Source: Cai et al. 2024, *Medusa: Simple LLM Inference Acceleration Framework with Multiple Decoding Heads*.
"""

import math
from collections.abc import Callable, Collection, Sequence
from functools import cache
from typing import TypedDict

import torch
from torch import Tensor, nn

from specdec.checks import (
    check_at_least,
    check_between,
    check_distribution,
    check_prompt,
)
from specdec.distributions import StepFunction
from specdec.generation import evaluating
from specdec.randomness import Chance, categorical
from specdec.training import draw_windows, language_model_loss, next_token_loss, train
from specdec.transformer import GPTModel, KVCache, initialise_portably
from specdec.tree import (
    CandidateTree,
    DepthAcceptance,
    DraftTree,
    Proposal,
    RankPath,
    TreeGeneration,
    TreeRound,
    acceptance_of_chains,
    build_candidate_tree,
    greedy_autoregressive,
    greedy_continuations,
    greedy_next_ids_from_map,
    likeliest_places,
    sparse_candidate_tree,
    tree_attention_mask,
    tree_decode,
    tree_path,
    verify_below_root,
    verify_tree_greedy,
)

__all__ = [
    "MedusaDemo",
    "MedusaHead",
    "MedusaModel",
    "TypicalVerification",
    "build_candidate_tree",
    "demo_contexts",
    "demo_model",
    "demo_text",
    "demonstrate_medusa",
    "draft_chains",
    "expected_accepted_length",
    "greedy_autoregressive",
    "greedy_next_ids_from_map",
    "hit_rates",
    "likeliest_places",
    "medusa_decode",
    "medusa_loss",
    "medusa_proposal",
    "propose_candidates",
    "sparse_candidate_tree",
    "train_heads",
    "tree_attention_mask",
    "typical_decode",
    "typical_threshold",
    "verify_candidates",
    "verify_tree_greedy",
    "verify_tree_typical",
]


class MedusaHead(nn.Module):
    """One residual layer and a projection onto the vocabulary.

    ``w1`` starts at zero, so that the head is ``w2`` alone; with the LM head's weights in ``w2`` it is a copy of it.

    Source: Cai et al. 2024, on Medusa heads.

    Args:
        dim: D, the width of the target's features.
        vocab_size: V.
        generator: draws ``w2``; None is torch's global generator.
    """

    def __init__(
        self, dim: int, vocab_size: int, generator: torch.Generator | None = None
    ) -> None:
        super().__init__()
        check_at_least(dim, 1, "dim")
        check_at_least(vocab_size, 1, "vocab_size")
        with torch.random.fork_rng(devices=[]):  # torch's own draws are replaced at once
            self.w1 = nn.Linear(dim, dim)
            self.w2 = nn.Linear(dim, vocab_size, bias=False)
        initialise_portably(self.w2, generator)
        nn.init.zeros_(self.w1.weight)
        nn.init.zeros_(self.w1.bias)

    def forward(self, features: Tensor) -> Tensor:
        """Map features (…, D) to logits (…, V)."""
        return self.w2(nn.functional.silu(self.w1(features)) + features)


class MedusaModel(nn.Module):
    """A target with heads that look further ahead. Only the heads can be trained: the target is frozen here.

    Args:
        gpt: the target. Its parameters stop requiring gradients.
        num_heads: K, at least 1. Each head starts as a copy of the target's LM head.
    """

    def __init__(self, gpt: GPTModel, num_heads: int) -> None:
        super().__init__()
        check_at_least(num_heads, 1, "num_heads")
        vocab_size, dim = gpt.lm_head.weight.shape
        # the draws are overwritten below, so a throwaway generator will do
        self.heads = nn.ModuleList(
            MedusaHead(dim, vocab_size, torch.Generator()) for _ in range(num_heads)
        ).to(gpt.lm_head.weight)
        self.gpt = gpt.requires_grad_(False)
        with torch.no_grad():
            for head in self.heads:
                head.w2.weight.copy_(gpt.lm_head.weight)

    def forward(
        self,
        ids: Tensor,
        cache: KVCache | None = None,
        mask: Tensor | None = None,
        positions: Tensor | None = None,
    ) -> tuple[Tensor, list[Tensor]]:
        """Map ids (B, T) to (base_logits, head_logits): the target's (B, T, V), and as much for each head.

        At position t the target's logits speak of token t + 1, those of head k of token t + 1 + k. The other arguments
        are those of :meth:`specdec.transformer.GPTModel.features`.
        """
        features = self.gpt.features(ids, cache, mask, positions)  # (B, T, D)
        return self.gpt.lm_head(features), [head(features) for head in self.heads]


def medusa_loss(model: MedusaModel, windows: Tensor, head_decay: float = 0.8) -> Tensor:
    """The heads' cross-entropies, weighted with ``head_decay`` to the power of the head.

    Source: Cai et al. 2024, on Medusa-1, equation 1.

    Args:
        model: its heads are compared with what comes later in the windows.
        windows: (B, T), T at least K + 2.
        head_decay: the weight's base; the paper suggests 0.8.

    Raises:
        ValueError: windows too short for the last head.
    """
    n_heads, length = len(model.heads), windows.shape[1]
    if length < n_heads + 2:
        raise ValueError(
            f"windows must have at least {n_heads + 2} tokens for {n_heads} heads, got {length}"
        )
    _, head_logits = model(windows[:, :-2])  # (B, T − 2, V) each
    losses = [
        head_decay**ahead
        * language_model_loss(logits[:, : length - 1 - ahead], windows[:, 1 + ahead :])
        for ahead, logits in enumerate(head_logits, start=1)
    ]
    return torch.stack(losses).sum()


def train_heads(
    model: MedusaModel,
    windows: Callable[[], Tensor],
    steps: int,
    learning_rate: float = 3e-3,
    progress: str | None = None,
) -> list[float]:
    """Train all heads at once and leave the target alone: the paper's Medusa-1.

    Args:
        windows: draws a batch (B, T) of texts; called once a step.
        steps, learning_rate, progress: see :func:`specdec.training.train`.

    Returns:
        (steps,) the loss of every step.
    """
    return train(
        lambda: medusa_loss(model, windows()),
        model.heads.parameters(),
        steps,
        learning_rate,
        progress=progress,
    )


def draft_chains(model: MedusaModel, contexts: Tensor) -> Tensor:
    """The likeliest token of the target and of each head after each context (B, T): (B, 1 + K)."""
    return _ranked_guesses(model, contexts)[..., 0]


def hit_rates(model: MedusaModel, contexts: Tensor, width: int) -> list[list[float]]:
    """How often a head's guess of each rank is what the target itself goes on to say.

    Args:
        contexts: (B, T) texts, short enough for the target's window to hold K + 1 tokens more.
        width: how many ranks to count, at least 1.

    Returns:
        K lists of ``width`` rates, for :func:`specdec.tree.likeliest_places`.
    """
    guesses = _ranked_guesses(model, contexts)[:, 1:, : check_at_least(width, 1, "width")]
    truth = greedy_continuations(model.gpt, contexts, 1 + len(model.heads))[:, 1:]  # (B, K)
    return (guesses == truth[..., None]).double().mean(dim=0).tolist()


def propose_candidates(
    model: MedusaModel, context: Tensor | list[int], widths: Sequence[int]
) -> list[list[int]]:
    """The likeliest next tokens by the target itself, then the likeliest guesses of head 1, head 2, …

    Args:
        context: at least one token.
        widths: how many candidates for each level, at least 1 each; at most K + 1 levels.

    Raises:
        ValueError: too many levels, a width below 1 or beyond the vocabulary, or a bad context.
    """
    ranked = _ranked_guesses(model, check_prompt(context)[None])[0]  # (1 + K, V)
    if len(widths) > len(ranked):
        raise ValueError(
            f"widths must be at most {len(ranked)}, one for the target and for each head, got {len(widths)}"
        )
    for width in widths:
        if check_at_least(width, 1, "width") > model.gpt.vocab_size:
            raise ValueError(f"width must be at most {model.gpt.vocab_size}, got {width}")
    return [row[:width].tolist() for row, width in zip(ranked, widths, strict=False)]


def verify_candidates(
    gpt: GPTModel, context: Tensor | list[int], tree: DraftTree
) -> TreeRound:
    """Verify one tree below ``context``, at least two tokens, in one pass of the target."""
    tokens, seen = check_prompt(context), KVCache()
    with evaluating(gpt), torch.no_grad():
        gpt(tokens[None, :-1], seen)  # what earlier passes have left in the cache
        record, _ = verify_below_root(gpt, tokens.tolist(), tree, seen)
    return record


def medusa_proposal(model: MedusaModel, places: Collection[RankPath]) -> Proposal:
    """Propose a tree of fixed places below the newest token: head k fills level k.

    Args:
        places: for example from :func:`specdec.tree.every_place` or :func:`specdec.tree.likeliest_places`.

    Raises:
        ValueError: a place deeper than there are heads.
    """
    deepest = max((len(place) for place in places), default=0)
    if deepest > len(model.heads):
        raise ValueError(
            f"places reach level {deepest}, the model has {len(model.heads)} heads"
        )

    def propose(features: Tensor, followers: list[int], most_layers: int) -> CandidateTree:
        ranked = [
            head(features[-1]).argsort(descending=True, stable=True).tolist()
            for head in model.heads
        ]
        return sparse_candidate_tree(
            ranked, [place for place in places if len(place) <= most_layers]
        )

    return propose


def medusa_decode(
    model: MedusaModel,
    prompt: Tensor | list[int],
    max_new_tokens: int,
    places: Collection[RankPath],
    stop_tokens: Collection[int] = (),
) -> TreeGeneration:
    """Continue ``prompt`` greedily; every round verifies the heads' tree in one pass of the target.

    The target's own next token is committed by the pass that says it. The tree hangs below it, so a round emits the
    accepted guesses of the heads and one token more.

    Args:
        places: the shape of the tree, see :func:`medusa_proposal`.
        prompt, max_new_tokens, stop_tokens: see :func:`specdec.tree.tree_decode`.
    """
    with evaluating(model):
        return tree_decode(
            model.gpt, prompt, max_new_tokens, medusa_proposal(model, places), stop_tokens
        )


def expected_accepted_length(probs: Sequence[float]) -> float:
    """Expected tokens per pass: 1 + Σ_k p_1 ⋯ p_k, the target's own token and each guess whose path is right so far.

    Args:
        probs: p_k is the probability that guess k is right, given that all shallower ones are; each in [0, 1].
    """
    expected = reached = 1.0
    for prob in probs:
        reached *= check_between(prob, 0.0, 1.0, "probs")
        expected += reached
    return expected


def typical_threshold(probs: Tensor, epsilon: float, delta: float) -> float:
    """min(ε, δ·exp(−H)): how likely a token must be to count as typical.

    H is the law's entropy in nats. Where the law is flat, e^−H is small and less likely tokens pass.

    Source: Cai et al. 2024, on typical acceptance, after Hewitt et al. 2022.

    Args:
        probs: (V,) the target's law.
        epsilon: the threshold's ceiling, at least 0.
        delta: its share of e^−H, at least 0.
    """
    check_distribution(probs)
    check_between(epsilon, 0.0, math.inf, "epsilon")
    check_between(delta, 0.0, math.inf, "delta")
    entropy = -torch.xlogy(probs, probs).sum().item()
    return min(epsilon, delta * math.exp(-entropy))


class TypicalVerification(TypedDict):
    """What typical acceptance kept."""

    accepted_tokens: list[int]  # along one path from the top
    accepted_len: int
    emitted: list[int]  # the accepted tokens and one drawn from the target's law after them
    accepted_nodes: list[int]
    thresholds: list[
        float
    ]  # (1 + n,) what a child of the context had to exceed, and of each node


def verify_tree_typical(
    tree: DraftTree,
    root_probs: Tensor,
    node_probs: Tensor,
    epsilon: float = 0.09,
    delta: float = 0.3,
    generator: Chance = None,
) -> TypicalVerification:
    """Keep the longest path on which every guess is typical: p(x) > min(ε, δ·e^−H).

    **Approximate**: guesses are kept because they are likely enough, not as often as they are likely, so the law of
    what comes out is not the target's.

    Source: Cai et al. 2024, on typical acceptance. There the token after the path is greedy; here it is drawn from
    the target's law, so that the rule is exact where it accepts nothing.

    Args:
        tree: its tokens and parents.
        root_probs: (V,) the target's law after the context.
        node_probs: (n, V) and after each node.
        epsilon, delta: see :func:`typical_threshold`; the paper takes δ = √ε.
        generator: one categorical draw.

    Raises:
        ValueError: laws that don't fit the tree, or settings out of range.
    """
    tokens, parents = tree["tokens"], tree["parents"]
    rows = [root_probs, *node_probs]
    if len(rows) != 1 + len(tokens):
        raise ValueError(
            f"a tree of {len(tokens)} tokens needs a law after each, got {len(rows) - 1}"
        )
    thresholds = [typical_threshold(row, epsilon, delta) for row in rows]
    lengths: dict[int, int] = {-1: 0}  # of the paths that are typical all along
    for node, (token, parent) in enumerate(zip(tokens, parents, strict=True)):
        if parent in lengths and rows[parent + 1][token].item() > thresholds[parent + 1]:
            lengths[node] = lengths[parent] + 1
    last = max(lengths, key=lambda node: (lengths[node], -node))
    path = tree_path(parents, last)
    accepted = [tokens[node] for node in path]
    bonus = categorical(rows[last + 1], generator).item()
    return TypicalVerification(
        accepted_tokens=accepted,
        accepted_len=len(accepted),
        emitted=[*accepted, bonus],
        accepted_nodes=path,
        thresholds=thresholds,
    )


def typical_decode(
    prompt: Tensor | list[int],
    target_step: StepFunction,
    propose: Callable[[Tensor, Chance], DraftTree],
    max_new_tokens: int,
    epsilon: float = 0.09,
    delta: float = 0.3,
    generator: Chance = None,
) -> list[int]:
    """Decode by rounds of typical acceptance, for laws on a small vocabulary: its output law can be enumerated.

    Args:
        prompt: at least one token.
        target_step: maps a 1-D LongTensor of all tokens so far to the next token's law (V,).
        propose: maps the tokens so far and the generator to a tree of guesses; may be empty.
        max_new_tokens: at least 1.
        epsilon, delta: see :func:`typical_threshold`.
        generator: the draws of ``propose``, then one categorical draw a round.

    Returns:
        The new tokens, without the prompt.
    """
    check_at_least(max_new_tokens, 1, "max_new_tokens")
    tokens = check_prompt(prompt)
    n_prompt = len(tokens)
    while len(tokens) - n_prompt < max_new_tokens:
        tree = propose(tokens, generator)
        root_probs = target_step(tokens)
        node_probs = [
            target_step(torch.cat([tokens, torch.tensor(_path_tokens(tree, node))]))
            for node in range(len(tree["tokens"]))
        ]
        laws = torch.stack(node_probs) if node_probs else root_probs[None][:0]
        verified = verify_tree_typical(tree, root_probs, laws, epsilon, delta, generator)
        tokens = torch.cat([tokens, torch.tensor(verified["emitted"])])
    return tokens[n_prompt : n_prompt + max_new_tokens].tolist()


DEMO_PHRASES = {"A": [7, 2, 13], "B": [5, 9, 0], "C": [14, 3, 11], "D": [6, 1, 15]}
DEMO_ORDER = "ABDCBADBCACBDABCDADCBDAC"
DEMO_CONTEXT_LENGTH = 6


def demo_text() -> Tensor:
    """24 phrases of three tokens in an order without a pattern: (72,).

    Inside a phrase the next token is certain. Which phrase follows must be remembered from the last two or so.
    """
    return torch.tensor([token for name in DEMO_ORDER for token in DEMO_PHRASES[name]])


def demo_contexts() -> Tensor:
    """Every stretch of six tokens of the demo's text: (67, 6)."""
    return demo_text().unfold(0, DEMO_CONTEXT_LENGTH, 1)


@cache
def demo_model() -> MedusaModel:
    """The demo's target, overfitted on its text, with three trained heads. The first call takes some seconds."""
    generator = torch.Generator().manual_seed(0)
    text, n_heads = demo_text(), 3
    gpt = GPTModel(16, 32, 4, 2, max_seq_len=24, generator=generator).double()

    def windows() -> Tensor:
        return draw_windows(text, 16, DEMO_CONTEXT_LENGTH + 1 + n_heads, generator)

    train(lambda: next_token_loss(gpt, windows()), gpt.parameters(), steps=200)
    model = MedusaModel(gpt, n_heads)
    train_heads(model, windows, steps=200)
    return model.eval().requires_grad_(False)


class MedusaDemo(TypedDict):
    """The heads of the demo, and one tree of theirs that the target verified."""

    head_accuracy: list[
        float
    ]  # (K,) how often each head's guess is what the target goes on to say
    acceptance: DepthAcceptance  # the same heads, counted in three ways
    context: list[int]
    candidates: list[list[int]]  # level 1 from the target itself, level 1 + k from head k
    tree: CandidateTree
    root_next: int  # the target's greedy token after the context
    node_next: list[int]  # (n,) and after each node
    accepted_nodes: list[int]
    accepted_tokens: list[int]
    accepted_len: int
    emitted: list[int]
    greedy_reference: list[int]
    matches_greedy: bool


def demonstrate_medusa(
    root_width: int = 2,
    head_widths: Sequence[int] = (1, 1, 1),
    context: list[int] | None = None,
) -> MedusaDemo:
    """Draft a tree with the demo's heads and verify it.

    Level 1 holds the target's own candidates for the next token, which the pass before has paid for; below them the
    heads' candidates follow.

    Args:
        root_width: how many candidates of the target, at least 1.
        head_widths: how many of each head, at least 1 each. With all of them 1 a chain hangs below each root.
        context: at least two tokens; None is the beginning of the demo's text.

    Raises:
        ValueError: a width below 1, more widths than heads, or a bad context.
    """
    model = demo_model()
    contexts = demo_contexts()
    truth = greedy_continuations(model.gpt, contexts, 1 + len(model.heads))
    acceptance = acceptance_of_chains(draft_chains(model, contexts)[:, 1:], truth[:, 1:])
    context = contexts[0].tolist() if context is None else list(context)
    candidates = propose_candidates(model, context, [root_width, *head_widths])
    tree = build_candidate_tree(candidates)
    record = verify_candidates(model.gpt, context, tree)
    verified = verify_tree_greedy(tree, record["root_next"], record["node_next"])
    reference = greedy_continuations(
        model.gpt, torch.tensor([context]), len(verified["emitted"])
    )[0].tolist()
    return MedusaDemo(
        head_accuracy=acceptance["own"],
        acceptance=acceptance,
        context=context,
        candidates=candidates,
        tree=tree,
        root_next=record["root_next"],
        node_next=record["node_next"],
        accepted_nodes=record["accepted_nodes"],
        **verified,
        greedy_reference=reference,
        matches_greedy=verified["emitted"] == reference,
    )


def _path_tokens(tree: DraftTree, node: int) -> list[int]:
    return [tree["tokens"][step] for step in tree_path(tree["parents"], node)]


def _ranked_guesses(model: MedusaModel, contexts: Tensor) -> Tensor:
    """The vocabulary by falling logit, for the target and each head after each context (B, T): (B, 1 + K, V)."""
    with evaluating(model), torch.no_grad():
        base, heads = model(contexts)
    logits = torch.stack([base[:, -1], *(head[:, -1] for head in heads)], dim=1)
    return logits.argsort(dim=-1, descending=True, stable=True)
