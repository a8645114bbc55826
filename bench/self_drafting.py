"""Measure the self-drafting methods on the stochastic language, over several seeds.

    .venv/bin/python bench/self_drafting.py [--seeds 0 1 2 3 4 5] [--parts eagle …]

A seed is a language with its own target. Each part trains what it needs on that target and measures it on held-out
text. What is measured is written into bench/records/self_drafting.json, seed by seed, beside what is there already;
the chapters on Medusa, EAGLE and EAGLE-2 read it from there.
"""

import argparse
import json
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import torch

from specdec.book.eagle_measures import MAIN_HEAD, measure_chains, measure_trees
from specdec.book.medusa_measures import measure_medusa
from specdec.book.pass_cost import describe_machine
from specdec.book.stochastic_language import TrainedTarget, trained_target

RECORD = Path(__file__).parent / "records" / "self_drafting.json"


def measure_eagle(target: TrainedTarget, seed: int) -> dict[str, Any]:
    """Chains by every way of training, and trees on the main head."""
    drafters, chains = measure_chains(target, seed)
    return {"chains": chains} | measure_trees(target, drafters[MAIN_HEAD])


PARTS: dict[str, Callable[[TrainedTarget, int], dict[str, Any]]] = {
    "medusa": measure_medusa,
    "eagle": measure_eagle,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=list(range(6)))
    parser.add_argument("--parts", nargs="+", choices=list(PARTS), default=list(PARTS))
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    for seed in arguments.seeds:
        target = trained_target(seed, progress=f"seed {seed}, target")
        for part in arguments.parts:
            _store(seed, target, part, PARTS[part](target, seed))
            print(f"seed {seed}: {part} stored", flush=True)


def _store(seed: int, target: TrainedTarget, part: str, measured: dict[str, Any]) -> None:
    """Put one part of one seed into the record; read anew each time, so that parts may run side by side."""
    record = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    record["date"], record["machine"] = date.today().isoformat(), describe_machine()
    entry = record.setdefault("seeds", {}).setdefault(str(seed), {})
    entry["held_out_loss"] = target.held_out_loss
    entry["entropy_rate"] = target.language.entropy_rate
    entry[part] = measured
    record["seeds"] = dict(sorted(record["seeds"].items(), key=lambda item: int(item[0])))
    RECORD.parent.mkdir(exist_ok=True)
    RECORD.write_text(
        json.dumps(_rounded(record), indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )


def _rounded(value: Any) -> Any:
    """Five significant digits: more would differ between machines."""
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    return [_rounded(item) for item in value] if isinstance(value, list) else value


if __name__ == "__main__":
    main()
