"""Read what the scripts under ``bench/`` have measured, over several seeds."""

import json
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_RECORDS = Path("../bench/records")  # from where the notebooks run


def load_seeds(
    part: str, name: str = "self_drafting", folder: Path = _RECORDS
) -> list[dict[str, Any]]:
    """One part of a record, for every seed that has it, in the order of the seeds.

    Raises:
        ValueError: no seed has that part.
    """
    record = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    found = [entry[part] for entry in record["seeds"].values() if part in entry]
    if not found:
        raise ValueError(f"{name}.json holds no part {part!r}")
    return found


def mean_and_spread(values: Sequence[float]) -> tuple[float, float]:
    """Mean and sample standard deviation; the spread of a single value is 0."""
    return statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else 0.0


def with_spread(values: Sequence[float], digits: int = 2) -> str:
    """Mean ± spread, as text that no line break divides."""
    mean, spread = mean_and_spread(values)
    return f"{mean:.{digits}f}\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}{spread:.{digits}f}"
