"""Candidate trees: several guesses for the same future, sharing their beginnings.

A tree is given by ``parents``: node i hangs below ``parents[i]``, −1 stands for the context, and a parent
always comes before its children.
"""

import torch
from torch import Tensor


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

    Source: Miao et al. 2024 (SpecInfer), topology-aware causal mask; Cai et al. 2024 (Medusa), section 2.3.
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
