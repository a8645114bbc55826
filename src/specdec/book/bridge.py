"""``ojs_define``: hand values from a notebook to the widgets of its page.

Quarto offers a function of this name only in kernels that Quarto itself starts. This one writes the same output
everywhere: in Jupyter, under nbval and when the book is executed.
"""

import json
import math
from typing import Any

import torch
from IPython.display import display

_SIGNIFICANT_DIGITS = 6
_LARGEST_EXACT_INT = 2**53  # JavaScript's numbers are float64


def ojs_define(**values: Any) -> None:
    """Define each keyword as a variable for the OJS cells of the page.

    Numbers are rounded to six significant digits, so that the stored output is the same on every CPU. A float32
    tensor is refused: no rounding makes results of float32 training stable.

    Args:
        values: None, bool, int, float, str, lists, tuples and dicts of these with string keys, and integer, bool or
            float64 tensors, which arrive as nested lists.

    Raises:
        ValueError: a number that is NaN or infinite, or a type that JSON cannot hold; the message says where.
    """
    if not values:
        raise ValueError("ojs_define needs at least one name=value, got none")
    contents = [
        {"name": name, "value": _as_json(value, name)} for name, value in values.items()
    ]
    payload = json.dumps({"contents": contents}, ensure_ascii=False, allow_nan=False)
    html = f'<script type="ojs-define">{_script_safe(payload)}</script>'
    display({"text/html": html}, raw=True, metadata={"ojs_define": True})


def _script_safe(payload: str) -> str:
    """The same JSON without the two sequences that change how HTML reads a script element."""
    return payload.replace("</", "<\\/").replace("<!--", "<\\u0021--")


def _as_json(value: Any, place: str) -> Any:
    """Return ``value`` as JSON data; ``place`` says where in the payload it stands."""
    match value:
        case None | bool() | str():
            return value
        case int():
            return _exact_int(value, place)
        case float():
            return _rounded(value, place)
        case torch.Tensor():
            return _as_json(_stable_list(value, place), place)
        case list() | tuple():
            return [_as_json(item, f"{place}[{index}]") for index, item in enumerate(value)]
        case dict():
            return {
                _checked_key(key, place): _as_json(item, f"{place}.{key}")
                for key, item in value.items()
            }
    raise ValueError(
        f"{place} is a {type(value).__name__}; allowed are numbers, strings, lists, dicts and tensors"
    )


def _exact_int(value: int, place: str) -> int:
    if abs(value) > _LARGEST_EXACT_INT:
        raise ValueError(
            f"{place} is {value}; whole numbers beyond ±2**53 lose digits in the page"
        )
    return value


def _rounded(value: float, place: str) -> float:
    if not math.isfinite(value):
        raise ValueError(
            f"{place} is {value}; only finite numbers can reach the page, use None for a missing one"
        )
    return float(f"{value:.{_SIGNIFICANT_DIGITS}g}")


def _stable_list(tensor: torch.Tensor, place: str) -> Any:
    if tensor.is_floating_point() and tensor.dtype != torch.float64:
        raise ValueError(
            f"{place} is a {tensor.dtype} tensor; compute in float64, whose digits agree across CPUs"
        )
    if tensor.is_complex():
        raise ValueError(
            f"{place} is a {tensor.dtype} tensor; hand over its real and imaginary parts"
        )
    return tensor.detach().tolist()


def _checked_key(key: Any, place: str) -> str:
    if not isinstance(key, str):
        raise ValueError(f"{place} has the key {key!r}; keys must be strings")
    return key
