"""What the chapters on EAGLE and EAGLE-2 tell of the stochastic language, measured on one trained target.

    target = trained_target(seed=0)
    drafters, chains = measure_chains(target, seed=0)   # how far each way of training carries
    trees = measure_trees(target, drafters[...])        # what a budget of nodes buys

Depth 1 is the token after the target's own next one, which every chain and tree here hangs below.
"""

import copy
import time
from collections.abc import Iterator, Sequence
from typing import TypedDict

import torch
from torch import Tensor

from specdec.book.stochastic_language import TrainedTarget, held_out_windows
from specdec.eagle import DraftState, EagleDrafter, draft_state_after, train_draft_head
from specdec.eagle2 import (
    ExpandedTree,
    Grower,
    dynamic_tree,
    eagle2_decode,
    expand_draft_tree,
    fixed_tree,
    rank_paths,
    rerank_draft_tree,
    tuned_shape,
)
from specdec.generation import evaluating, generate
from specdec.training import draw_windows
from specdec.transformer import GPTModel, KVCache
from specdec.tree import (
    DepthAcceptance,
    acceptance_of_chains,
    accepted_path,
    greedy_continuations,
    tree_pass_inputs,
)

CONTEXT_LENGTH = 20
CHAIN_CONTEXTS, CHAIN_LENGTH = 400, 6
TREE_CONTEXTS, TUNING_CONTEXTS = 120, 60
BUDGET, BRANCH, EXPAND_K, DEPTH = 8, 3, 3, 5
PROMPTS, PROMPT_LENGTH, NEW_TOKENS = 15, 12, 28
BINS = 10

LOSSES = {"features and tokens": 1.0, "tokens only": 0.0}  # the weight of the feature loss
RECIPES = ["teacher-forced", "teacher-forced, twice as long", "then free-running"]
MAIN_HEAD = ("features and tokens", "teacher-forced, twice as long")


class ChainMeasure(TypedDict):
    """How far the chains of one head carry."""

    loss: str
    recipe: str
    acceptance: DepthAcceptance  # (CHAIN_LENGTH − 1,) against greedy decoding
    training_seconds: float  # of processor time


def measure_chains(
    target: TrainedTarget, seed: int
) -> tuple[dict[tuple[str, str], EagleDrafter], list[ChainMeasure]]:
    """Train a head in each way of ``LOSSES`` and ``RECIPES``, and measure its chains on held-out text."""
    contexts = held_out_windows(target.held_out, CHAIN_CONTEXTS, CONTEXT_LENGTH)
    truth = greedy_continuations(target.model, contexts, CHAIN_LENGTH)
    drafters, measures = {}, []
    for loss in LOSSES:
        for recipe, drafter, seconds in _trained_heads(target, LOSSES[loss], seed):
            drafts = drafter.draft(contexts, CHAIN_LENGTH).tokens
            acceptance = acceptance_of_chains(drafts[:, 1:], truth[:, 1:])
            drafters[loss, recipe] = drafter
            measures.append(
                ChainMeasure(
                    loss=loss,
                    recipe=recipe,
                    acceptance=acceptance,
                    training_seconds=seconds,
                )
            )
    return drafters, measures


def _trained_heads(
    target: TrainedTarget, feature_weight: float, seed: int
) -> Iterator[tuple[str, EagleDrafter, float]]:
    generator = torch.Generator().manual_seed(1000 + seed)
    fresh = EagleDrafter(target.model, 4, generator)

    def trained(start: EagleDrafter, **recipe) -> tuple[EagleDrafter, float]:
        drafter, started = copy.deepcopy(start), time.process_time()
        train_draft_head(
            drafter,
            target.training_text,
            feature_weight=feature_weight,
            token_weight=1.0,
            generator=generator,
            **recipe,
        )
        return drafter.eval(), time.process_time() - started

    teacher, first = trained(fresh, steps=250)
    yield RECIPES[0], teacher, first
    yield RECIPES[1], *trained(fresh, steps=500)
    free, second = trained(teacher, steps=120, links=4, learning_rate=1.5e-3)
    yield RECIPES[2], free, first + second


class TreeMeasure(TypedDict):
    """What one kind of tree of ``BUDGET`` nodes is worth, on average over contexts."""

    tree: str
    value_mass: float  # what the head expects
    accepted_sampled: float  # what the target accepts on average if it samples
    accepted_greedy: float  # … and if it takes its likeliest token
    tokens_per_pass: float  # of a whole greedy run, the bonus included


class BudgetCurves(TypedDict):
    """Mean mass of the first m nodes, for m = 1 to the size of an expanded tree."""

    dynamic_value: list[float]
    fixed_value: list[float]  # the same nodes breadth-first
    dynamic_accepted: list[float]  # what the target accepts on average if it samples
    fixed_accepted: list[float]


class CertaintyThird(TypedDict):
    """A third of the contexts, by how much the head expects of its chain."""

    chain_value_mass: float
    chain_sampled: float
    tree_sampled: float
    chain_greedy: float
    tree_greedy: float


class CalibrationBin(TypedDict):
    """Guesses of like confidence, and how they fared where all before them were right."""

    count: int
    confidence: float | None  # mean; None where there is no guess
    sampled: float | None  # the target's mean probability of them
    greedy: float | None  # the share that is the target's likeliest token


def measure_trees(target: TrainedTarget, drafter: EagleDrafter) -> dict:
    """Compare trees of the same number of nodes, below held-out contexts and in whole runs."""
    contexts = held_out_windows(target.held_out, TREE_CONTEXTS, CONTEXT_LENGTH)
    growers = _growers(target, drafter)
    scored = [_score_context(drafter, context, growers) for context in contexts]
    return {
        "trees": [
            TreeMeasure(
                tree=name,
                value_mass=_mean(score[name].value_mass for score in scored),
                accepted_sampled=_mean(score[name].sampled for score in scored),
                accepted_greedy=_mean(score[name].greedy for score in scored),
                tokens_per_pass=_tokens_per_pass(target, drafter, grower),
            )
            for name, grower in growers.items()
        ],
        "certainty_thirds": _certainty_thirds(scored),
        "budget": _budget_curves(drafter, contexts),
        "calibration": measure_calibration(target, drafter),
    }


def _growers(target: TrainedTarget, drafter: EagleDrafter) -> dict[str, Grower]:
    """The trees to compare, each of ``BUDGET`` nodes. The tuned shape is tuned on training text."""
    tuning = draw_windows(
        target.training_text,
        TUNING_CONTEXTS,
        CONTEXT_LENGTH,
        torch.Generator().manual_seed(0),
    )
    states = [draft_state_after(drafter, context)[0] for context in tuning]
    shallow, deep = ([_expand(state, depth) for state in states] for depth in (DEPTH, 8))
    # every expanded tree begins with the same places
    breadth_first = rank_paths(shallow[0])[:BUDGET]
    return {
        "dynamic, depth ≤ 5": dynamic_tree(DEPTH, BRANCH, EXPAND_K, BUDGET),
        "dynamic, depth ≤ 8": dynamic_tree(8, BRANCH, EXPAND_K, BUDGET),
        "fixed, breadth-first": fixed_tree(breadth_first),
        "fixed, tuned, depth ≤ 5": fixed_tree(tuned_shape(shallow, BUDGET)),
        "fixed, tuned, depth ≤ 8": fixed_tree(tuned_shape(deep, BUDGET)),
        "chain": dynamic_tree(BUDGET, 1, 1, BUDGET),
    }


def _expand(state: DraftState, depth: int) -> ExpandedTree:
    return expand_draft_tree(state, depth, BRANCH, EXPAND_K)


class _Score:
    """One tree against the target: what the head expects and what the target accepts."""

    def __init__(self, model: GPTModel, root: int, tree: ExpandedTree, cache: KVCache):
        laws = laws_below_root(model, root, tree, cache)
        likeliest = laws.argmax(dim=-1).tolist()
        self.value_mass = sum(tree["values"])
        self.sampled = sum(path_probabilities(tree, laws))
        self.greedy = len(accepted_path(tree, likeliest[0], likeliest[1:]))


def _score_context(
    drafter: EagleDrafter, context: Tensor, growers: dict[str, Grower]
) -> dict[str, _Score]:
    state, root = draft_state_after(drafter, context)
    cache = _read(drafter.gpt, context)
    return {
        name: _Score(drafter.gpt, root, grow(state, 8), cache)
        for name, grow in growers.items()
    }


def _read(model: GPTModel, context: Tensor) -> KVCache:
    cache = KVCache()
    with evaluating(model), torch.no_grad():
        model(context[None], cache)
    return cache


def laws_below_root(
    model: GPTModel, root: int, tree: ExpandedTree, cache: KVCache
) -> Tensor:
    """The target's laws (1 + n, V) after the root and after each node; ``cache`` stays as it was."""
    past = cache.length
    mask, positions = tree_pass_inputs(
        [-1, *(parent + 1 for parent in tree["parents"])], past
    )
    with evaluating(model), torch.no_grad():
        logits = model(torch.tensor([[root, *tree["tokens"]]]), cache, mask, positions)[0]
    cache.truncate(past)
    return torch.softmax(logits, dim=-1)


def path_probabilities(tree: ExpandedTree, laws: Tensor) -> list[float]:
    """How likely the target, if it samples, walks through each node. Their sum is the mean number accepted."""
    probabilities: list[float] = []
    for token, parent in zip(tree["tokens"], tree["parents"], strict=True):
        to_parent = 1.0 if parent == -1 else probabilities[parent]
        probabilities.append(to_parent * laws[parent + 1, token].item())
    return probabilities


def _tokens_per_pass(target: TrainedTarget, drafter: EagleDrafter, grower: Grower) -> float:
    """Of whole greedy runs, each of which must equal plain greedy decoding."""
    rounds, emitted = 0, 0
    for prompt in held_out_windows(target.held_out, PROMPTS, PROMPT_LENGTH):
        run = eagle2_decode(drafter, prompt, NEW_TOKENS, grower)
        if run.tokens != generate(drafter.gpt, prompt, NEW_TOKENS, temperature=0).tokens:
            raise RuntimeError(f"a tree changed the text after {prompt.tolist()}")
        rounds += len(run.trace)
        emitted += len(run.tokens) - 1  # the first token comes from reading the prompt
    return emitted / rounds


def _certainty_thirds(scored: Sequence[dict[str, _Score]]) -> list[CertaintyThird]:
    """From the contexts where the head expects least of its chain to those where it expects most."""
    chain, tree = "chain", "dynamic, depth ≤ 8"
    ordered = sorted(scored, key=lambda score: score[chain].value_mass)
    cuts = [len(ordered) * third // 3 for third in range(4)]
    return [
        CertaintyThird(
            chain_value_mass=_mean(score[chain].value_mass for score in part),
            chain_sampled=_mean(score[chain].sampled for score in part),
            tree_sampled=_mean(score[tree].sampled for score in part),
            chain_greedy=_mean(score[chain].greedy for score in part),
            tree_greedy=_mean(score[tree].greedy for score in part),
        )
        for part in (ordered[start:end] for start, end in zip(cuts, cuts[1:], strict=False))
    ]


def _budget_curves(drafter: EagleDrafter, contexts: Tensor) -> BudgetCurves:
    curves = []
    for context in contexts:
        state, root = draft_state_after(drafter, context)
        tree = _expand(state, DEPTH)
        laws = laws_below_root(drafter.gpt, root, tree, _read(drafter.gpt, context))
        values = torch.tensor(tree["values"], dtype=torch.float64)
        accepted = torch.tensor(path_probabilities(tree, laws), dtype=torch.float64)
        order = _rerank_order(tree)
        curves.append(torch.stack([values[order], values, accepted[order], accepted]))
    means = torch.stack(curves).mean(dim=0).cumsum(dim=1).tolist()
    return BudgetCurves(
        dynamic_value=means[0],
        fixed_value=means[1],
        dynamic_accepted=means[2],
        fixed_accepted=means[3],
    )


def _rerank_order(tree: ExpandedTree) -> list[int]:
    """The nodes in the order in which a growing budget takes them in."""
    order: list[int] = []
    for size in range(1, len(tree["tokens"]) + 1):
        kept = rerank_draft_tree(tree, size)["kept"]
        order += [node for node in kept if node not in order]
    return order


def measure_calibration(
    target: TrainedTarget, drafter: EagleDrafter
) -> list[CalibrationBin]:
    """Hold the head's confidence in its three best guesses against how they fare, in bins of equal width.

    The guesses are those along drafted chains, as long as the chain is what the target says itself.
    """
    contexts = held_out_windows(target.held_out, CHAIN_CONTEXTS, CONTEXT_LENGTH)
    drafted = drafter.draft(contexts, CHAIN_LENGTH)
    with evaluating(target.model), torch.no_grad():
        texts = torch.cat([contexts, drafted.tokens[:, :-1]], dim=1)
        laws = torch.softmax(
            target.model(texts)[:, CONTEXT_LENGTH:], dim=-1
        )  # (B, L − 1, V)
    truth = greedy_continuations(target.model, contexts, CHAIN_LENGTH)
    on_track = (drafted.tokens == truth).long().cumprod(dim=1)[:, :-1].bool()  # (B, L − 1)
    confidences, guesses = drafted.laws[:, 1:].topk(BRANCH)  # (B, L − 1, 3)
    sampled = laws.gather(2, guesses)[on_track].flatten()
    greedy = (guesses == laws.argmax(dim=-1, keepdim=True))[on_track].flatten().double()
    confidences = confidences[on_track].flatten()
    bins = (confidences * BINS).long().clamp(max=BINS - 1)
    return [
        _calibration_bin(bins == number, confidences, sampled, greedy)
        for number in range(BINS)
    ]


def _calibration_bin(
    inside: Tensor, confidences: Tensor, sampled: Tensor, greedy: Tensor
) -> CalibrationBin:
    count = int(inside.sum())
    means = [
        values[inside].mean().item() if count else None
        for values in (confidences, sampled, greedy)
    ]
    return CalibrationBin(
        count=count, confidence=means[0], sampled=means[1], greedy=means[2]
    )


def expected_calibration_error(bins: Sequence[CalibrationBin], against: str) -> float:
    """The mean gap between confidence and outcome, each bin by its count.

    Args:
        bins: from :func:`measure_calibration`.
        against: "sampled" or "greedy".
    """
    filled = [entry for entry in bins if entry["count"]]
    gaps = sum(
        entry["count"] * abs(entry["confidence"] - entry[against]) for entry in filled
    )
    return gaps / sum(entry["count"] for entry in filled)


def _mean(values: Iterator[float]) -> float:
    values = list(values)
    return sum(values) / len(values)
