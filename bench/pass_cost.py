"""Measure what a pass over 1, 2, 4, 8 and 16 positions costs on this machine, at several model sizes.

    .venv/bin/python bench/pass_cost.py [FILE]

Prints each cost as a multiple of the pass over one position; with FILE it also writes the record that the chapter
on generation plots, one for each machine (bench/records/pass_cost/MACHINE.json).
"""

import json
import sys
from datetime import date
from pathlib import Path

import torch

from specdec.book.pass_cost import describe_machine, measure_pass_cost

SIZES = [(64, 2), (256, 4), (512, 6), (1024, 8), (2048, 6)]
POSITIONS = [1, 2, 4, 8, 16]


def main() -> None:
    costs = measure_pass_cost(
        SIZES, POSITIONS, repeats=25, generator=torch.Generator().manual_seed(0)
    )
    print(
        f"{'parameters':>12} {'one position':>14}   as a multiple, over {POSITIONS[1:]} positions"
    )
    for cost in costs:
        first, *rest = cost["seconds"]
        multiples = "".join(f"{seconds / first:>7.2f}" for seconds in rest)
        print(f"{cost['parameters']:>12,} {1000 * first:>11.2f} ms {multiples}")
    if len(sys.argv) > 1:
        record = {
            "date": date.today().isoformat(),
            "machine": describe_machine(),
            "positions": POSITIONS,
        }
        record["costs"] = [
            cost | {"seconds": [float(f"{seconds:.3g}") for seconds in cost["seconds"]]}
            for cost in costs
        ]
        Path(sys.argv[1]).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
