"""The look of the book's matplotlib figures: one palette that reads on light and on dark ground.

The colours stand for roles, the same roles as in the widgets. A figure is a PNG that style sheets can't reach, so its
ground is transparent and every colour has a contrast of at least 3 with white and with the dark page.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

ROLE_COLORS = {
    "target": "#3a7fd0",
    "draft": "#cc7a00",
    "accepted": "#2b9a66",
    "rejected": "#de4f4f",
    "correction": "#9a68d8",
    "muted": "#757b84",
}

_STYLE = {
    "figure.dpi": 200,
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
    "savefig.transparent": True,
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": ROLE_COLORS["muted"],
    "axes.labelcolor": ROLE_COLORS["muted"],
    "axes.titlecolor": ROLE_COLORS["muted"],
    "axes.titlesize": "medium",
    "xtick.color": ROLE_COLORS["muted"],
    "ytick.color": ROLE_COLORS["muted"],
    "text.color": ROLE_COLORS["muted"],
    "legend.frameon": False,
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "lines.linewidth": 2,
}


@contextmanager
def book_figure(
    columns: int = 1, width: float = 6.2, height: float = 3.0
) -> Iterator[tuple[Figure, list[Axes]]]:
    """Yield a figure and its ``columns`` axes side by side in the book's style; show it when the block ends."""
    with plt.rc_context(_STYLE):
        figure, axes = plt.subplots(
            1, columns, figsize=(width, height), layout="constrained", squeeze=False
        )
        yield figure, list(axes[0])
        plt.show()
