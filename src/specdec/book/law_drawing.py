"""Draw and print the law of a wrong rule beside that of the right one, for the chapter on pitfalls."""

from collections.abc import Sequence

from matplotlib.axes import Axes

from specdec.book.figures import ROLE_COLORS
from specdec.book.rules import WrongLaw


def print_laws(case: WrongLaw) -> None:
    """Print target, draft and both laws, and how far the wrong one is from the target."""
    right, wrong = case.laws()
    rows = {
        "draft q": case.q.tolist(),
        "target p": case.p.tolist(),
        "law of the right rule": right,
        "law of the wrong rule": wrong,
    }
    for name, law in rows.items():
        print(f"{name:<22}", "  ".join(f"{mass:.3f}" for mass in law))
    print(f"distance of the wrong law from the target: {case.distance():.3f}")


def draw_laws(axis: Axes, case: WrongLaw, labels: Sequence[str] | None = None) -> None:
    """Two bars for each token: the law of the right rule, that of the wrong one, hatched; marks at the target."""
    right, wrong = case.laws()
    tokens = range(len(right))
    axis.bar(
        [token - 0.2 for token in tokens],
        right,
        width=0.36,
        color=ROLE_COLORS["accepted"],
        label="right rule",
    )
    axis.bar(
        [token + 0.2 for token in tokens],
        wrong,
        width=0.36,
        color="none",
        edgecolor=ROLE_COLORS["rejected"],
        hatch="//",
        label="wrong rule",
    )
    axis.hlines(
        case.p,
        [token - 0.44 for token in tokens],
        [token + 0.44 for token in tokens],
        color=ROLE_COLORS["target"],
        linewidth=3,
        label="target p",
    )
    axis.set_xticks(tokens, labels or [f"token {token}" for token in tokens])
    axis.set(ylabel="probability", ylim=(0, max(*right, *wrong) * 1.08))
    axis.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
