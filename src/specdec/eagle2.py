"""EAGLE-2: a draft tree that grows where the draft is sure of itself, and is cut back to the nodes worth verifying.

Everything here works on a *path oracle*: a function that maps the tokens of a path to guesses for the token after it,
each with a confidence. :class:`specdec.eagle.DraftState` is one; a table or a formula will do as well.

Source: Li et al. 2024, *EAGLE-2: Faster Inference of Language Models with Dynamic Draft Trees*.
"""

import math
from collections.abc import Callable, Collection, Sequence
from typing import TypedDict

import torch
from torch import Tensor

from specdec.checks import check_at_least
from specdec.eagle import (
    DraftState,
    EagleDrafter,
    demo_drafter,
    demo_text,
    draft_state_after,
)
from specdec.generation import evaluating
from specdec.transformer import KVCache
from specdec.tree import (
    DraftTree,
    RankPath,
    TreeGeneration,
    greedy_continuations,
    tree_decode,
    tree_depths,
    tree_path,
    verify_below_root,
)

__all__ = [
    "Eagle2Demo",
    "ExpandedTree",
    "Grower",
    "PathOracle",
    "PrunedTree",
    "best_closed_mass",
    "demonstrate_eagle2",
    "dynamic_tree",
    "eagle2_decode",
    "expand_draft_tree",
    "fixed_tree",
    "grow_children",
    "is_ancestor_closed",
    "keep_nodes",
    "rank_paths",
    "rerank_draft_tree",
    "tuned_shape",
    "uniform_oracle",
    "values_are_monotone",
]

PathOracle = Callable[[list[int]], Sequence[tuple[int, float]]]
"""Maps the tokens of a path, [] at the root, to (token, confidence) guesses for the token after it."""


_ROUNDING = 1e-6  # how far a computed confidence may stray outside [0, 1]


class ExpandedTree(DraftTree):
    """A tree of n guesses, layer after layer, with what the draft thinks of them."""

    depths: list[int]  # (n,) from 1
    values: list[float]  # (n,) the product of the confidences along the path


class PrunedTree(ExpandedTree):
    """The part of a draft tree that is kept, as a tree of its own."""

    kept: list[int]  # (m,) its nodes in the expanded tree, ascending


def expand_draft_tree(
    oracle: PathOracle, depth: int, branch: int, expand_k: int
) -> ExpandedTree:
    """Grow a tree layer by layer; only a layer's most valuable nodes get children.

    Source: Li et al. 2024 (EAGLE-2), section 4.1.

    Args:
        oracle: asked once for every node that is expanded.
        depth: how many layers to grow, at least 1.
        branch: at most so many children a node, the most confident ones (the earlier among equals).
        expand_k: so many nodes of each new layer are expanded, those of the largest values (the earlier among equals).

    Raises:
        ValueError: an argument below 1, a confidence outside [0, 1], or one token twice among the guesses for a path.
    """
    for name, size in {"depth": depth, "branch": branch, "expand_k": expand_k}.items():
        check_at_least(size, 1, name)
    tree = _empty_tree()
    frontier = [-1]
    for layer in range(1, depth + 1):
        first_new = len(tree["tokens"])
        for node in frontier:
            grow_children(tree, node, layer, oracle, branch)
        new_nodes = range(first_new, len(tree["tokens"]))
        promising = sorted(new_nodes, key=lambda node: -tree["values"][node])
        frontier = sorted(promising[:expand_k])
    return tree


def grow_children(
    tree: ExpandedTree, parent: int, depth: int, oracle: PathOracle, branch: int
) -> None:
    """Ask the oracle what may follow a node and append its most confident guesses."""
    path = [tree["tokens"][node] for node in tree_path(tree["parents"], parent)]
    guesses = sorted(oracle(path), key=lambda guess: -guess[1])[:branch]
    if len({token for token, _ in guesses}) < len(guesses):
        raise ValueError(f"the oracle guessed a token twice after path {path}")
    for token, confidence in guesses:
        _append(tree, parent, depth, token, confidence)


def _append(
    tree: ExpandedTree, parent: int, depth: int, token: int, confidence: float
) -> None:
    if not -_ROUNDING <= confidence <= 1.0 + _ROUNDING:
        raise ValueError(
            f"confidences must lie in [0, 1], the oracle gave {confidence} to token {token} at depth {depth}"
        )
    value = 1.0 if parent == -1 else tree["values"][parent]
    tree["tokens"].append(token)
    tree["parents"].append(parent)
    tree["depths"].append(depth)
    tree["values"].append(value * min(max(float(confidence), 0.0), 1.0))


def rerank_draft_tree(expanded: ExpandedTree, keep_m: int) -> PrunedTree:
    """Keep the m most valuable nodes; of equals the shallower, then the earlier.

    A node is never worth more than its parent, and a parent of equal value is shallower: so with a node all its
    ancestors are kept, and what is kept is a tree.

    Source: Li et al. 2024 (EAGLE-2), section 4.2.

    Args:
        expanded: a tree whose values never grow downwards, as :func:`expand_draft_tree` makes them.
        keep_m: m, at least 1; a tree of fewer nodes is kept whole.

    Raises:
        ValueError: ``keep_m`` below 1, or a node worth more than its parent.
    """
    check_at_least(keep_m, 1, "keep_m")
    if not values_are_monotone(expanded):
        raise ValueError("values must not grow from a parent to its child")
    values, depths = expanded["values"], expanded["depths"]
    order = sorted(range(len(values)), key=lambda node: (-values[node], depths[node], node))
    return keep_nodes(expanded, sorted(order[:keep_m]))


def keep_nodes(tree: ExpandedTree, kept: list[int]) -> PrunedTree:
    """The tree that the nodes ``kept``, ascending, form by themselves.

    Raises:
        ValueError: a node without its parent.
    """
    if not is_ancestor_closed(tree["parents"], kept):
        raise ValueError(f"kept must hold the parent of each of its nodes, got {kept}")
    place = {-1: -1} | {node: index for index, node in enumerate(kept)}
    return PrunedTree(
        kept=kept,
        tokens=[tree["tokens"][node] for node in kept],
        parents=[place[tree["parents"][node]] for node in kept],
        depths=[tree["depths"][node] for node in kept],
        values=[tree["values"][node] for node in kept],
    )


def values_are_monotone(tree: ExpandedTree) -> bool:
    """Whether no node is worth more than its parent."""
    values = tree["values"]
    return all(
        parent == -1 or value <= values[parent]
        for parent, value in zip(tree["parents"], values, strict=True)
    )


def is_ancestor_closed(parents: list[int], kept: Sequence[int]) -> bool:
    """Whether ``kept`` holds with every node its parent, and so all its ancestors."""
    nodes = {-1, *kept}
    return all(parents[node] in nodes for node in kept)


def best_closed_mass(parents: list[int], values: list[float], size: int) -> float:
    """The largest total value of any ``size`` nodes that form a tree.

    By dynamic programming over subtrees. It sorts nothing and trusts no monotony, so it can judge
    :func:`rerank_draft_tree`.

    Args:
        parents: n nodes, parents before their children.
        values: (n,) of any sign.
        size: between 0 and n.

    Raises:
        ValueError: ``size`` outside its range, or a parent that is neither −1 nor an earlier node.
    """
    tree_depths(parents)  # checks them
    if check_at_least(size, 0, "size") > len(parents):
        raise ValueError(
            f"size must be at most {len(parents)}, the nodes there are; got {size}"
        )
    # below[node][k]: the most that k nodes below node can be worth; −1 is the root
    below: dict[int, list[float]] = {node: [0.0] for node in range(-1, len(parents))}
    for node in reversed(range(len(parents))):  # children before their parents
        with_node = [0.0] + [values[node] + rest for rest in below[node]]
        below[parents[node]] = _best_split(below[parents[node]], with_node)
    return below[-1][size]


def _best_split(left: list[float], right: list[float]) -> list[float]:
    """best[k] = the largest left[i] + right[k − i]."""
    return [
        max(
            left[i] + right[size - i]
            for i in range(max(0, size - len(right) + 1), min(size, len(left) - 1) + 1)
        )
        for size in range(len(left) + len(right) - 1)
    ]


def uniform_oracle(candidates: list[list[int]]) -> PathOracle:
    """The oracle of independent heads: the same candidates of a depth after every path, all equally likely.

    Args:
        candidates: the tokens for each depth, from 1; deeper paths get no guesses.
    """

    def oracle(path: list[int]) -> list[tuple[int, float]]:
        if len(path) >= len(candidates):
            return []
        layer = candidates[len(path)]
        return [(token, 1 / len(layer)) for token in layer]

    return oracle


Grower = Callable[[PathOracle, int], ExpandedTree]
"""Makes a tree of at most so many layers, at least 1, from a path oracle."""


def dynamic_tree(depth: int, branch: int, expand_k: int, keep_m: int) -> Grower:
    """Grow EAGLE-2's tree: expand, then rerank. With ``branch`` 1 it is EAGLE's chain."""

    def grow(oracle: PathOracle, most_layers: int) -> ExpandedTree:
        expanded = expand_draft_tree(oracle, min(depth, most_layers), branch, expand_k)
        return rerank_draft_tree(expanded, keep_m)

    return grow


def fixed_tree(shape: Collection[RankPath]) -> Grower:
    """Grow the same places every time, whatever the confidences: only the tokens change.

    Args:
        shape: rank paths, with each of them its beginnings.

    Raises:
        ValueError: a rank path without its parent, or an empty one.
    """
    if missing := [path for path in shape if not path or path[:-1] not in {(), *shape}]:
        raise ValueError(
            f"shape must hold the parent of each rank path, not so for {missing[0]}"
        )
    places = sorted(shape, key=lambda path: (len(path), path))

    def grow(oracle: PathOracle, most_layers: int) -> ExpandedTree:
        nodes: dict[RankPath, int] = {(): -1}
        tree = _empty_tree()
        for place in places:
            if len(place) > most_layers or place[:-1] not in nodes:
                continue
            parent = nodes[place[:-1]]
            path = [tree["tokens"][node] for node in tree_path(tree["parents"], parent)]
            guesses = sorted(oracle(path), key=lambda guess: -guess[1])
            if place[-1] < len(guesses):
                nodes[place] = len(tree["tokens"])
                _append(tree, parent, len(place), *guesses[place[-1]])
        return tree

    return grow


def rank_paths(tree: ExpandedTree) -> list[RankPath]:
    """The place of each node by ranks: its parent's, and how many siblings stand before it."""
    paths: list[RankPath] = []
    n_children: dict[int, int] = {}
    for parent in tree["parents"]:
        rank = n_children.get(parent, 0)
        n_children[parent] = rank + 1
        paths.append((*(paths[parent] if parent != -1 else ()), rank))
    return paths


def tuned_shape(trees: Sequence[ExpandedTree], size: int) -> list[RankPath]:
    """The ``size`` places that are worth most on average over expanded trees: the best shape if it can't change.

    A place that a tree doesn't have is worth nothing there. With a place its beginnings are chosen, for no node is
    worth more than its parent.

    Args:
        trees: from :func:`expand_draft_tree`, on texts to tune on.
        size: at least 1.
    """
    check_at_least(size, 1, "size")
    totals: dict[RankPath, float] = {}
    for tree in trees:
        for path, value in zip(rank_paths(tree), tree["values"], strict=True):
            totals[path] = totals.get(path, 0.0) + value
    return sorted(totals, key=lambda path: (-totals[path], len(path), path))[:size]


def eagle2_decode(
    drafter: EagleDrafter,
    prompt: Tensor | list[int],
    max_new_tokens: int,
    grow: Grower,
    stop_tokens: Collection[int] = (),
) -> TreeGeneration:
    """Continue ``prompt`` greedily, with a tree of guesses and one target pass a round.

    The first pass reads the prompt and gives one token, the first root. Each round drafts a tree below the root; one
    pass over root and tree, with the tree mask and a KV cache, verifies it; the accepted path and the target's own next
    token are committed, and that token is the next root. The text is that of greedy decoding, whatever is guessed.

    Args:
        drafter: the target and its draft head.
        prompt: at least one token.
        max_new_tokens: at least 1; fewer come out if a stop token does.
        grow: makes the tree below each root; asked for no more layers than can still be emitted.
        stop_tokens: the text ends with the first of these to come.

    Raises:
        ValueError: an empty prompt, ``max_new_tokens`` below 1, or a text that doesn't fit the target's window.
    """
    state = DraftState(drafter)

    def propose(features: Tensor, followers: list[int], most_layers: int) -> ExpandedTree:
        state.observe(features, torch.tensor(followers))
        return grow(state, most_layers)

    return tree_decode(drafter.gpt, prompt, max_new_tokens, propose, stop_tokens)


def _empty_tree() -> ExpandedTree:
    return ExpandedTree(tokens=[], parents=[], depths=[], values=[])


class Eagle2Demo(TypedDict):
    """One dynamic tree of the trained demo: grown, pruned and verified."""

    context: list[int]
    root: int  # the target's own next token, that the tree hangs below
    exp_tokens: list[int]  # (n,) all expanded nodes, layer after layer
    exp_parents: list[int]  # (n,)
    exp_depths: list[int]  # (n,)
    exp_values: list[float]  # (n,)
    kept: list[int]  # (m,)
    kept_node_count: int  # m
    expanded_node_count: int  # n
    full_cartesian_count: (
        int  # paths from the root to a leaf in the tree that expands every node
    )
    full_node_count: int  # its nodes
    fixed_node_values: list[
        float
    ]  # (n,) breadth-first: the fixed tree of m nodes takes the first m
    dynamic_value_mass: float  # of the kept nodes, to 4 decimals
    fixed_value_mass: float  # of the first m nodes, to 4 decimals
    dynamic_is_optimal: (
        bool  # no other m of the expanded nodes that form a tree are worth more
    )
    emitted: list[int]
    greedy_reference: list[int]
    matches_greedy: bool


def demonstrate_eagle2(
    depth: int = 5,
    branch: int = 3,
    expand_k: int = 3,
    keep_m: int = 8,
    context: list[int] | None = None,
) -> Eagle2Demo:
    """Grow, prune and verify a tree with the target and head of :func:`specdec.eagle.demo_drafter`.

    Args:
        depth, branch, expand_k: see :func:`expand_draft_tree`.
        keep_m: see :func:`rerank_draft_tree`.
        context: at least one token; None is the beginning of the phrase that the demo's text repeats.
    """
    drafter = demo_drafter()
    context = demo_text()[:3].tolist() if context is None else context
    state, root = draft_state_after(drafter, context)
    expanded = expand_draft_tree(state, depth, branch, expand_k)
    pruned = rerank_draft_tree(expanded, keep_m)
    cache = KVCache()
    with evaluating(drafter), torch.no_grad():
        drafter.features(torch.tensor([context]), cache)
        record, _ = verify_below_root(drafter.gpt, [*context, root], pruned, cache)
    emitted, text = record["emitted"], torch.tensor([[*context, root]])
    reference = greedy_continuations(drafter.gpt, text, len(emitted))[0].tolist()
    values, n_kept = expanded["values"], len(pruned["kept"])
    best = best_closed_mass(expanded["parents"], values, n_kept)
    return Eagle2Demo(
        context=list(context),
        root=root,
        exp_tokens=expanded["tokens"],
        exp_parents=expanded["parents"],
        exp_depths=expanded["depths"],
        exp_values=values,
        kept=pruned["kept"],
        kept_node_count=n_kept,
        expanded_node_count=len(values),
        full_cartesian_count=branch**depth,
        full_node_count=sum(branch**layer for layer in range(1, depth + 1)),
        fixed_node_values=values,
        dynamic_value_mass=round(sum(pruned["values"]), 4),
        fixed_value_mass=round(sum(values[:n_kept]), 4),
        dynamic_is_optimal=math.isclose(sum(pruned["values"]), best, rel_tol=1e-12),
        emitted=emitted,
        greedy_reference=reference,
        matches_greedy=emitted == reference,
    )
