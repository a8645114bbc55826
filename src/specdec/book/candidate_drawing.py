"""Draw a candidate tree: depth from left to right, what was accepted in its own colour and with a tick."""

from collections.abc import Collection, Sequence

from matplotlib.axes import Axes

from specdec.book.figures import ROLE_COLORS
from specdec.tree import DraftTree, tree_depths

_CLEARANCE = 0.24  # between a node's middle and the ends of its lines


def draw_tree(
    axis: Axes,
    tree: DraftTree,
    accepted: Collection[int] = (),
    root: str = "context",
    labels: Sequence[str] | None = None,
) -> None:
    """Draw a tree; the leaves are spread evenly from top to bottom.

    Args:
        axis: where to draw.
        tree: its tokens and parents.
        accepted: nodes to mark.
        root: what the tree hangs below.
        labels: (n,) the text of each node; None takes its token.
    """
    parents, depths = tree["parents"], tree_depths(tree["parents"])
    heights = _heights(parents)
    texts = labels or [str(token) for token in tree["tokens"]]
    for node, parent in enumerate(parents):
        role = "accepted" if node in accepted else "muted"
        axis.plot(
            [depths[node] - 1 + _CLEARANCE, depths[node] - _CLEARANCE],
            [heights[parent], heights[node]],
            color=ROLE_COLORS[role],
            linewidth=2 if node in accepted else 1,
            linestyle="-" if node in accepted else ":",
        )
        _draw_node(axis, depths[node], heights[node], texts[node], node in accepted)
    _draw_node(axis, 0, heights[-1], root, False)
    deepest = max(depths, default=0)
    axis.set(xlim=(-0.6, deepest + 0.5), ylim=(max(heights.values()) + 0.6, -0.6))
    axis.set_xticks(
        range(1, deepest + 1), [f"level {depth}" for depth in range(1, deepest + 1)]
    )
    axis.set_yticks([])
    axis.tick_params(length=0)
    axis.spines[:].set_visible(False)


def _heights(parents: Sequence[int]) -> dict[int, float]:
    """The height of each node, and of the root as −1: leaves one apart, a parent in the middle of its children."""
    children: dict[int, list[int]] = {}
    for node, parent in enumerate(parents):
        children.setdefault(parent, []).append(node)
    heights: dict[int, float] = {}
    n_leaves = 0

    def place(node: int) -> None:
        nonlocal n_leaves
        below = children.get(node, [])
        for child in below:
            place(child)
        if below:
            heights[node] = (heights[below[0]] + heights[below[-1]]) / 2
        else:
            heights[node] = n_leaves
            n_leaves += 1

    place(-1)
    return heights


def _draw_node(axis: Axes, x: float, y: float, text: str, accepted: bool) -> None:
    color = ROLE_COLORS["accepted" if accepted else "muted"]
    axis.text(
        x,
        y,
        f"✓ {text}" if accepted else text,
        ha="center",
        va="center",
        color=color,
        bbox={"boxstyle": "round,pad=0.3", "facecolor": "none", "edgecolor": color},
    )
