"""The forms in which a widget's numbers are held against Python's, and how a payload is rounded."""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor


def function_cases(
    module: str, name: str, cases: Iterable[tuple[list[Any], Any]]
) -> dict[str, Any]:
    """A JavaScript function, by its module relative to ``widgets/``, and what it must return for which arguments."""
    return {
        "module": module,
        "function": name,
        "cases": [{"arguments": arguments, "value": value} for arguments, value in cases],
    }


def state(
    options: dict[str, Any], value: dict[str, Any], says: list[float]
) -> dict[str, Any]:
    """Options to start a widget with, what its ``.value`` must hold then, and numbers its sentence must name."""
    return {"options": options, "value": value, "says": says}


def float64(values: list[float]) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def rounded(value: Any) -> Any:
    """Round floats to six significant digits, as the bridge to the widgets does."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    return [rounded(item) for item in value] if isinstance(value, list) else value
