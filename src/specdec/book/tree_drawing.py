"""Draft trees in the chapters' figures: what was grown, what was kept, and how much the draft thinks of each node."""

from collections.abc import Collection, Sequence

from matplotlib.axes import Axes

from specdec.book.figures import ROLE_COLORS
from specdec.eagle2 import ExpandedTree

_LEAST_NAMED = 0.05  # smaller nodes have no room for a name


def draw_tree(
    axis: Axes,
    tree: ExpandedTree,
    kept: Collection[int],
    root: str,
    labels: Sequence[str] | None = None,
) -> None:
    """Draw a tree from left to right; the area of a node grows with its value, kept nodes are filled.

    Args:
        axis: where to draw.
        tree: from :func:`specdec.eagle2.expand_draft_tree`.
        kept: the nodes that :func:`specdec.eagle2.rerank_draft_tree` keeps.
        root: the name of the root.
        labels: (n,) names of the nodes; None takes their tokens. They stand at the kept nodes that aren't tiny.
    """
    labels = [str(token) for token in tree["tokens"]] if labels is None else labels
    heights = _heights(tree["parents"])
    axis.text(-0.12, heights[-1], root, ha="right", va="center", fontweight="bold")
    for node, parent in enumerate(tree["parents"]):
        start = (0 if parent == -1 else tree["depths"][parent], heights[parent])
        end = (tree["depths"][node], heights[node])
        role = "accepted" if node in kept else "muted"
        axis.plot(
            [start[0], end[0]],
            [start[1], end[1]],
            color=ROLE_COLORS[role],
            linewidth=1.6 if node in kept else 0.5,
            zorder=1,
        )
        axis.scatter(
            *end,
            s=12 + 260 * tree["values"][node],
            facecolor=ROLE_COLORS[role] if node in kept else "none",
            edgecolor=ROLE_COLORS[role],
            zorder=2,
        )
        if node in kept and tree["values"][node] >= _LEAST_NAMED:
            axis.annotate(
                f"{labels[node]}  {tree['values'][node]:.2f}",
                end,
                xytext=(0, 4 + 8 * tree["values"][node] ** 0.5),
                textcoords="offset points",
                ha="center",
                fontsize="small",
            )
    axis.set(xlim=(-0.6, max(tree["depths"]) + 0.5), ylim=(-0.8, max(heights.values()) + 2))
    axis.set_xticks(range(1, max(tree["depths"]) + 1))
    axis.set(yticks=[], xlabel="depth")
    axis.spines["left"].set_visible(False)


def _heights(parents: Sequence[int]) -> dict[int, float]:
    """A height for each node and for the root, −1: leaves on lines of their own, the others amid their children."""
    children: dict[int, list[int]] = {node: [] for node in range(-1, len(parents))}
    for node, parent in enumerate(parents):
        children[parent].append(node)
    heights: dict[int, float] = {}
    free_line = iter(range(len(parents)))

    def place(node: int) -> float:
        below = [place(child) for child in reversed(children[node])]
        heights[node] = sum(below) / len(below) if below else float(next(free_line))
        return heights[node]

    place(-1)
    return heights
