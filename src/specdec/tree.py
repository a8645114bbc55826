"""Candidate trees: several guesses for the same future, sharing their beginnings.

A tree is given by ``parents``: node i hangs below ``parents[i]``, −1 stands for the context, and a parent
always comes before its children.
"""

import heapq
import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Literal, NamedTuple, TypedDict

import torch
from torch import Tensor

from specdec.checks import check_at_least, check_prompt
from specdec.generation import check_room, commit, evaluating
from specdec.transformer import GPTModel, KVCache


class DraftTree(TypedDict):
    """Guessed tokens that hang together: what a verifier needs to know. Other keys may stand beside these."""

    tokens: list[int]  # (n,)
    parents: list[int]  # (n,) −1 for the children of the context


class CandidateTree(DraftTree):
    """A tree and the texts that it spells."""

    paths: list[list[int]]  # the tokens from the top to each leaf, leaves in their order


class TreeVerification(TypedDict):
    """What a greedy verification kept."""

    accepted_tokens: list[int]  # along one path from the top
    accepted_len: int
    emitted: list[int]  # the accepted tokens and the target's own next one, the bonus


RankPath = tuple[int, ...]
"""A node's place by ranks: (0, 2) is the third candidate of level 2 below the first of level 1."""


def build_candidate_tree(candidates: Sequence[Sequence[int]]) -> CandidateTree:
    """Every way to pick one candidate a level, as a tree: breadth-first, the children of a node side by side.

    Its size is the sum of the products of the levels' widths, so it explodes: widths 3, 3, 3, 3 make 120 nodes.

    Source: Cai et al. 2024 (Medusa), on tree attention.

    Args:
        candidates: for each level its tokens, the likeliest first. No level makes an empty tree.

    Raises:
        ValueError: a level without a candidate.
    """
    return sparse_candidate_tree(
        candidates, every_place([len(level) for level in candidates])
    )


def every_place(widths: Sequence[int]) -> list[RankPath]:
    """All places of the full tree whose level d is ``widths[d − 1]`` wide, ordered by depth, then by ranks."""
    return [
        place
        for depth in range(1, len(widths) + 1)
        for place in itertools.product(*(range(width) for width in widths[:depth]))
    ]


def sparse_candidate_tree(
    candidates: Sequence[Sequence[int]], places: Collection[RankPath]
) -> CandidateTree:
    """The part of the full candidate tree that lies at ``places``, in the same order.

    Source: Cai et al. 2024 (Medusa), on optimised trees.

    Args:
        candidates: for each level its tokens, the likeliest first.
        places: with each place its beginnings.

    Raises:
        ValueError: a level without a candidate, a place that the candidates don't have, or one whose parent is missing.
    """
    if empty := [depth for depth, level in enumerate(candidates, start=1) if not level]:
        raise ValueError(f"each level needs a candidate, got none for level {empty[0]}")
    nodes: dict[RankPath, int] = {(): -1}
    tokens, parents = [], []
    for place in sorted(set(places), key=lambda place: (len(place), place)):
        if not place or place[:-1] not in nodes:
            raise ValueError(
                f"places must hold the parent of each place, not so for {place}"
            )
        if len(place) > len(candidates) or not 0 <= place[-1] < len(
            candidates[len(place) - 1]
        ):
            raise ValueError(f"there is no candidate at place {place}")
        parents.append(nodes[place[:-1]])
        tokens.append(int(candidates[len(place) - 1][place[-1]]))
        nodes[place] = len(nodes) - 1
    return CandidateTree(tokens=tokens, parents=parents, paths=_leaf_paths(tokens, parents))


def likeliest_places(hit_rates: Sequence[Sequence[float]], size: int) -> list[RankPath]:
    """The ``size`` places of the full tree that a verification most likely walks through.

    A place is reached if at each level the target agrees with the candidate of its rank. The levels are taken as
    independent, so its probability is the product of the hit rates along it. No place is likelier than its parent, so
    the likeliest ones form a tree.

    Source: Cai et al. 2024 (Medusa), on optimised trees.

    Args:
        hit_rates: for each level how often the candidate of each rank is what the target says, each in [0, 1].
        size: at least 1; fewer come back if the full tree is smaller.

    Returns:
        Ordered by depth, then by ranks.
    """
    check_at_least(size, 1, "size")
    chosen: list[RankPath] = []
    # entries: (−probability, depth, place); of equals the shallower comes first
    frontier: list[tuple[float, int, RankPath]] = [(-1.0, 0, ())]
    while frontier and len(chosen) <= size:
        negated, depth, place = heapq.heappop(frontier)
        chosen.append(place)
        level = hit_rates[depth] if depth < len(hit_rates) else []
        for rank, rate in enumerate(level):
            heapq.heappush(frontier, (negated * rate, depth + 1, (*place, rank)))
    return sorted(chosen[1:], key=lambda place: (len(place), place))


def tree_depths(parents: list[int]) -> list[int]:
    """Depth of each node, counted from 1 for the children of the context.

    Raises:
        ValueError: a parent that is neither −1 nor an earlier node.
    """
    depths: list[int] = []
    for node, parent in enumerate(parents):
        if not -1 <= parent < node:
            raise ValueError(f"parents[{node}] must be −1 or an earlier node, got {parent}")
        depths.append(1 if parent == -1 else depths[parent] + 1)
    return depths


def tree_path(parents: list[int], node: int) -> list[int]:
    """The nodes from the context's child down to ``node``, both included."""
    path = []
    while node != -1:
        path.append(node)
        node = parents[node]
    return path[::-1]


def tree_attention_mask(parents: list[int]) -> Tensor:
    """(n, n) bool: node i sees its ancestors and itself, and no sibling or cousin.

    Source: Miao et al. 2024 (SpecInfer), topology-aware causal mask; Cai et al. 2024 (Medusa), on tree attention.
    """
    tree_depths(parents)  # checks them
    mask = torch.zeros(len(parents), len(parents), dtype=torch.bool)
    for node, parent in enumerate(parents):
        if parent != -1:
            mask[node] = mask[parent]
        mask[node, node] = True
    return mask


def tree_pass_inputs(parents: list[int], past: int) -> tuple[Tensor, Tensor]:
    """What lets a model score a whole tree in one pass after ``past`` tokens.

    Returns:
        (mask, positions): mask (n, past + n) bool, where each node sees the past, its ancestors and itself;
        positions (n,), by depth: siblings stand at the same place in their texts.
    """
    to_past = torch.ones(len(parents), past, dtype=torch.bool)
    mask = torch.cat([to_past, tree_attention_mask(parents)], dim=1)
    positions = torch.tensor(tree_depths(parents), dtype=torch.long) + past - 1
    return mask, positions


def verify_tree_greedy(
    tree: DraftTree, root_next: int, node_next: Sequence[int]
) -> TreeVerification:
    """Walk down while a child is what the target itself says; add the target's next token.

    What comes out is what greedy decoding would write, whatever the tree holds.

    Args:
        tree: its tokens and parents.
        root_next: the target's greedy token after the context.
        node_next: (n,) the target's greedy token after each node, given the node's path.

    Raises:
        ValueError: ``node_next`` or the parents don't fit the tokens.
    """
    path = accepted_path(tree, root_next, node_next)
    accepted = [tree["tokens"][node] for node in path]
    bonus = int(node_next[path[-1]] if path else root_next)
    return TreeVerification(
        accepted_tokens=accepted, accepted_len=len(accepted), emitted=[*accepted, bonus]
    )


def accepted_path(tree: DraftTree, root_next: int, node_next: Sequence[int]) -> list[int]:
    """The nodes that a greedy verification accepts, from the top.

    Of equal siblings the first is taken.

    Raises:
        ValueError: ``node_next`` or the parents don't fit the tokens.
    """
    tokens, parents = tree["tokens"], tree["parents"]
    if not len(tokens) == len(parents) == len(node_next):
        counts = f"{len(tokens)}, {len(parents)} and {len(node_next)}"
        raise ValueError(f"tokens, parents and node_next must be as many, got {counts}")
    tree_depths(parents)  # checks them
    path, at, wanted = [], -1, root_next
    # children come after their parent: one sweep will do
    for node, (token, parent) in enumerate(zip(tokens, parents, strict=True)):
        if parent == at and token == wanted:
            path.append(node)
            at, wanted = node, node_next[node]
    return path


def greedy_next_ids_from_map(chain: Mapping[int, int], tokens: Sequence[int]) -> list[int]:
    """The greedy token after each of ``tokens``, for a toy target that looks at the last token only.

    Raises:
        ValueError: a token that the map doesn't have.
    """
    if unknown := [token for token in tokens if token not in chain]:
        raise ValueError(f"chain must map every token, got {unknown[0]}")
    return [chain[token] for token in tokens]


def greedy_autoregressive(
    chain: Mapping[int, int], last_token: int, steps: int
) -> list[int]:
    """``steps`` tokens of greedy decoding after ``last_token``, for the same kind of toy target."""
    check_at_least(steps, 0, "steps")
    tokens = [last_token]
    for _ in range(steps):
        tokens += greedy_next_ids_from_map(chain, tokens[-1:])
    return tokens[1:]


class TreeRound(TypedDict):
    """One round: a tree below the newest token, verified in one pass of the target."""

    context: list[
        int
    ]  # all tokens before the round; the last is the root, which the target hasn't seen yet
    tree: DraftTree  # below the root
    root_next: int  # the target's greedy token after the root
    node_next: list[int]  # (n,) and after each node
    accepted_nodes: list[int]  # of the tree, from the top
    emitted: list[int]  # their tokens and the bonus, which is the next root
    cache_length: int  # after the round: the context and the accepted tokens


class TreeGeneration(NamedTuple):
    """What a run wrote, why it ended, and its rounds."""

    tokens: list[int]  # without the prompt; a stop token is the last one
    finish_reason: Literal["stop", "length"]
    trace: list[TreeRound]  # empty where the first token was the last

    @property
    def tokens_per_pass(self) -> float | None:
        """Tokens that a round emitted on average, surplus included; None without a round."""
        emitted = sum(len(record["emitted"]) for record in self.trace)
        return emitted / len(self.trace) if self.trace else None


Proposal = Callable[[Tensor, list[int], int], DraftTree]
"""Guesses below the newest token.

Called as ``propose(features, followers, most_layers)``: the features (T, D) of the positions that the target has seen
since the last call, the token after each of them (the last one is the root), and how deep the tree may be, at least 1.
"""


def tree_decode(
    model: GPTModel,
    prompt: Tensor | list[int],
    max_new_tokens: int,
    propose: Proposal,
    stop_tokens: Collection[int] = (),
) -> TreeGeneration:
    """Continue ``prompt`` greedily, with a tree of guesses and one pass in every round.

    The first pass reads the prompt and gives one token, the first root. Each round asks for a tree below the root and
    shows root and tree to the target at once. The accepted path and the target's next token are committed, and that
    token is the next root. No token is counted twice: a round's first guess is for the place *after* the root. The text
    is that of greedy decoding, whatever is proposed.

    Args:
        model: the target; computes in eval mode and without gradients.
        prompt: at least one token.
        max_new_tokens: at least 1; fewer come out if a stop token does.
        propose: makes the trees; asked for no more layers than can still be emitted.
        stop_tokens: the text ends with the first of these to come.

    Raises:
        ValueError: an empty prompt, ``max_new_tokens`` below 1, a text that doesn't fit the target's window, or a tree
            deeper than asked for.
    """
    check_at_least(max_new_tokens, 1, "max_new_tokens")
    tokens = check_prompt(prompt).tolist()
    n_prompt, n_most = len(tokens), len(tokens) + max_new_tokens
    check_room(n_prompt, max_new_tokens, model.max_seq_len)
    cache, trace = KVCache(), []
    with evaluating(model), torch.no_grad():
        seen = model.features(torch.tensor([tokens]), cache)[0]  # (T, D)
        emitted = [int(model.lm_head(seen[-1]).argmax())]
        while True:
            kept, finish_reason = commit(emitted, stop_tokens, n_most - len(tokens))
            tokens += kept
            if finish_reason is not None:
                return TreeGeneration(tokens[n_prompt:], finish_reason, trace)
            most_layers = n_most - len(tokens) - 1  # one more comes from the target itself
            tree: DraftTree = {"tokens": [], "parents": []}
            if most_layers:
                tree = propose(seen, tokens[-len(seen) :], most_layers)
                _check_depth(tree, most_layers)
            record, seen = verify_below_root(model, tokens, tree, cache)
            trace.append(record)
            emitted = record["emitted"]


def verify_below_root(
    model: GPTModel, context: list[int], tree: DraftTree, cache: KVCache
) -> tuple[TreeRound, Tensor]:
    """Show the target the newest token and the tree below it; keep what it says itself.

    Args:
        model: the target.
        context: all tokens so far; ``cache`` holds all but the last.
        tree: hangs below that last token.
        cache: holds the context and the accepted path afterwards, nothing else.

    Returns:
        (the round's record, the features (1 + accepted, D) of the root and the accepted path)
    """
    past = cache.length
    # in the pass the root is node 0
    mask, positions = tree_pass_inputs(
        [-1, *(parent + 1 for parent in tree["parents"])], past
    )
    ids = torch.tensor([[context[-1], *tree["tokens"]]])
    features = model.features(ids, cache, mask, positions)[0]  # (1 + n, D)
    root_next, *node_next = model.lm_head(features).argmax(dim=-1).tolist()
    path = accepted_path(tree, root_next, node_next)
    places = [0, *(node + 1 for node in path)]
    cache.gather([*range(past), *(past + place for place in places)])
    record = TreeRound(
        context=list(context),
        tree=tree,
        root_next=root_next,
        node_next=node_next,
        accepted_nodes=path,
        emitted=verify_tree_greedy(tree, root_next, node_next)["emitted"],
        cache_length=cache.length,
    )
    return record, features[places]


def greedy_continuations(model: GPTModel, ids: Tensor, length: int) -> Tensor:
    """Continue each of the texts (B, T) by ``length`` tokens of greedy decoding: (B, length)."""
    texts, cache = ids, KVCache()
    with evaluating(model), torch.no_grad():
        for _ in range(length):
            logits = model(texts[:, cache.length :], cache)[:, -1]  # (B, V)
            texts = torch.cat([texts, logits.argmax(dim=-1, keepdim=True)], dim=1)
    return texts[:, ids.shape[1] :]


class DepthAcceptance(TypedDict):
    """How often guesses are right at each depth, counted in three ways. Each list is (L,)."""

    own: list[float]  # this guess, whatever the others
    given_shallower: list[
        float | None
    ]  # this guess, where all shallower ones are; None where they never are
    cumulative: list[float]  # this guess and all shallower ones


def acceptance_of_chains(drafts: Tensor, truth: Tensor) -> DepthAcceptance:
    """Compare guessed chains (B, L) with what the target says itself (B, L), depth by depth.

    Raises:
        ValueError: shapes that differ or hold nothing.
    """
    if drafts.shape != truth.shape or drafts.dim() != 2 or drafts.numel() == 0:
        raise ValueError(
            f"drafts and truth must be of one shape (B, L), got {tuple(drafts.shape)} and {tuple(truth.shape)}"
        )
    right = (drafts == truth).double()
    cumulative = right.cumprod(dim=1).mean(dim=0).tolist()
    reached = [1.0, *cumulative[:-1]]
    return DepthAcceptance(
        own=right.mean(dim=0).tolist(),
        given_shallower=[
            both / before if before else None
            for before, both in zip(reached, cumulative, strict=True)
        ],
        cumulative=cumulative,
    )


def _leaf_paths(tokens: list[int], parents: list[int]) -> list[list[int]]:
    inner = set(parents)
    return [
        [tokens[node] for node in tree_path(parents, leaf)]
        for leaf in range(len(parents))
        if leaf not in inner
    ]


def _check_depth(tree: DraftTree, most_layers: int) -> None:
    depth = max(tree_depths(tree["parents"]), default=0)
    if depth > most_layers:
        raise ValueError(f"the tree may have {most_layers} layers here, got {depth}")
