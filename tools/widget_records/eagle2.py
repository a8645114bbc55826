"""Dynamic trees of a draft that is sure of itself after some tokens and not after others."""

from collections.abc import Callable
from typing import Any

import torch

from specdec.book.eagle_measures import (
    CalibrationBin,
    expected_calibration_error,
    measure_calibration,
)
from specdec.book.stochastic_language import trained_target
from specdec.eagle import EagleDrafter, train_draft_head
from specdec.eagle2 import ExpandedTree, expand_draft_tree, rerank_draft_tree

from .parity import function_cases, state

VALUES = "./lib/draft-values.js"
LABELS = list("abcdefg")


def _sure_or_not(start: int) -> Callable[[list[int]], list[tuple[int, float]]]:
    """Sure after every other token, undecided after the rest; the text before the tree ends with ``start``."""

    def oracle(path: list[int]) -> list[tuple[int, float]]:
        last = path[-1] if path else start
        confidences = [0.9, 0.06, 0.02] if last % 2 else [0.45, 0.35, 0.15]
        return [((3 * last + rank + 1) % 7, each) for rank, each in enumerate(confidences)]

    return oracle


def grow_payload() -> dict[str, Any]:
    """Small trees to see it all, from a sure and from an undecided start, expanded narrowly and widely."""
    settings = [("expand 2", 0, 2), ("expand 1", 0, 1), ("sure start", 5, 2)]
    return {
        "labels": LABELS,
        "trees": [
            {"name": name, "depth": 3, "branch": 2, "expand_k": expand_k, "keep_m": 4}
            | _grown(_sure_or_not(start), 3, 2, expand_k, 4)
            for name, start, expand_k in settings
        ],
    }


def _grown(oracle, depth: int, branch: int, expand_k: int, keep_m: int) -> dict[str, Any]:
    expanded = expand_draft_tree(oracle, depth, branch, expand_k)
    return expanded | {"kept": rerank_draft_tree(expanded, keep_m)["kept"]}


def grow_parity(payload: dict[str, Any]) -> dict[str, Any]:
    """What every budget keeps of trees with ties; the last step of each tree."""
    cases = [
        ([tree, size], rerank_draft_tree(tree, size)["kept"])
        for tree in _trees_with_ties()
        for size in range(1, len(tree["tokens"]) + 1)
    ]
    states = []
    for tree in payload["trees"]:
        mass = sum(tree["values"][node] for node in tree["kept"])
        deepest = max(tree["depths"][node] for node in tree["kept"])
        options = {"tree": tree["name"], "step": 2 * tree["depth"]}
        value = {"kind": "keep", "kept": tree["kept"], "mass": mass}
        states.append(state(options, value, [tree["keep_m"], mass, deepest]))
        children = [parent for parent in tree["parents"] if parent != -1]
        frontier = sorted({node for node in children if tree["depths"][node] == 1})
        options = {"tree": tree["name"], "step": 1}
        states.append(
            state(
                options,
                {"kind": "choose", "frontier": frontier},
                [tree["values"][node] for node in frontier],
            )
        )
    return {"functions": [function_cases(VALUES, "keptNodes", cases)], "states": states}


def _trees_with_ties() -> list[ExpandedTree]:
    """Random trees whose confidences have one digit, so that many values are equal."""
    generator = torch.Generator().manual_seed(4)

    def oracle(path: list[int]) -> list[tuple[int, float]]:
        drawn = torch.randint(1, 11, (3,), generator=generator).tolist()
        return [(token, confidence / 10) for token, confidence in enumerate(drawn)]

    return [
        expand_draft_tree(oracle, depth, 3, expand_k)
        for depth in (1, 2, 4)
        for expand_k in (1, 3)
        for _ in range(3)
    ]


def budget_payload() -> dict[str, Any]:
    """Larger trees, and both masses at some budgets."""
    return {
        "labels": LABELS,
        "trees": [
            _with_budgets(name, expand_draft_tree(_sure_or_not(start), 4, 3, 2))
            for name, start in [("undecided at first", 0), ("sure at first", 5)]
        ],
    }


def _with_budgets(name: str, tree: ExpandedTree) -> dict[str, Any]:
    n_nodes = len(tree["tokens"])
    budgets = [
        {
            "keep_m": size,
            "dynamic_value_mass": sum(rerank_draft_tree(tree, size)["values"]),
            "fixed_value_mass": sum(tree["values"][:size]),
        }
        for size in (1, 2, 4, 8, 12, n_nodes)
    ]
    return {"name": name} | tree | {"budgets": budgets}


def budget_parity(payload: dict[str, Any]) -> dict[str, Any]:
    """Both masses of trees with ties, at every budget; the recorded budgets."""
    cases = []
    for tree in _trees_with_ties():
        sizes = range(1, len(tree["tokens"]) + 1)
        dynamic = [sum(rerank_draft_tree(tree, size)["values"]) for size in sizes]
        fixed = [sum(tree["values"][:size]) for size in sizes]
        cases.append(([tree], {"dynamic": dynamic, "fixed": fixed}))
    states = []
    for tree in payload["trees"]:
        for budget in tree["budgets"]:
            size = budget["keep_m"]
            masses = [budget["dynamic_value_mass"], budget["fixed_value_mass"]]
            value = {
                "dynamicNodes": rerank_draft_tree(tree, size)["kept"],
                "dynamicMass": masses[0],
                "fixedMass": masses[1],
            }
            states.append(
                state({"tree": tree["name"], "budget": size}, value, [size, *masses])
            )
    return {
        "functions": [function_cases("./budget-dial.js", "massCurves", cases)],
        "states": states,
    }


def calibration_payload() -> dict[str, Any]:
    """A small target and head, trained for a few steps only, so that every bin has guesses."""
    target = trained_target(0, steps=60)
    generator = torch.Generator().manual_seed(1)
    drafter = EagleDrafter(target.model, 4, generator)
    train_draft_head(
        drafter, target.training_text, steps=40, token_weight=1.0, generator=generator
    )
    bins = measure_calibration(target, drafter)
    errors = {
        name: expected_calibration_error(bins, name) for name in ("sampled", "greedy")
    }
    return {"bins": bins, "errors": errors}


def calibration_parity(payload: dict[str, Any]) -> dict[str, Any]:
    """The error of random bins, some of them empty; every bin of the payload against both."""
    generator = torch.Generator().manual_seed(7)
    cases = [
        ([bins, name], expected_calibration_error(bins, name))
        for bins in [_random_bins(generator) for _ in range(20)]
        for name in ("sampled", "greedy")
    ]
    states = []
    for name in ("sampled", "greedy"):
        for number, entry in enumerate(payload["bins"], start=1):
            value = {"confidence": entry["confidence"], "outcome": entry[name]}
            value |= {"count": entry["count"], "error": payload["errors"][name]}
            says = [payload["errors"][name]]
            if entry["count"]:
                says += [entry["count"], entry["confidence"], entry[name]]
            states.append(state({"against": name, "bin": number}, value, says))
    return {
        "functions": [
            function_cases("./calibration-plot.js", "expectedCalibrationError", cases)
        ],
        "states": states,
    }


def _random_bins(generator: torch.Generator) -> list[CalibrationBin]:
    drawn = torch.rand(5, 3, generator=generator, dtype=torch.float64).tolist()
    counts = [0, *torch.randint(0, 50, (3,), generator=generator).tolist(), 7]
    return [
        CalibrationBin(count=count, confidence=confidence, sampled=sampled, greedy=greedy)
        for count, (confidence, sampled, greedy) in zip(counts, drawn, strict=True)
    ]
