"""Rounds of sequential Monte Carlo, and what a divergence between draft and target does."""

from typing import Any

import torch

from specdec.distributions import acceptance_rate
from specdec.smc_sd import (
    SMCRound,
    block_chi_squared,
    chi_squared,
    demonstrate_smc_sd,
    effective_sample_size,
    first_order_squared_error,
    smc_sd_decode,
)

from .parity import float64, function_cases, state


def stepper_payload() -> dict[str, Any]:
    """Three rounds of eight particles: one that isn't resampled, then two that are."""
    return {"labels": list("ABCDEFGH"), "rounds": _rounds()}


def _rounds() -> list[SMCRound]:
    p = float64([0.4, 0.25, 0.15, 0.08, 0.05, 0.03, 0.02, 0.02])
    q = torch.full((8,), 1 / 8, dtype=torch.float64)
    _, rounds = smc_sd_decode(
        lambda tokens: q,
        lambda tokens: p,
        [0],
        2,
        8,
        4.0,
        7,
        torch.Generator().manual_seed(3),
    )
    return rounds


def stepper_parity(payload: dict[str, Any]) -> dict[str, Any]:
    """Ratios and sample sizes of the unrounded rounds and at their limits; every step of every round."""
    rounds = _rounds()
    ratios = [
        ([target, draft], ratio)
        for record in rounds
        for target, draft, ratio in zip(
            record["target_probs"],
            record["draft_probs"],
            record["block_ratios"],
            strict=True,
        )
    ]
    weights = [record["scored_weights"] for record in rounds]
    weights += [[1.0] * 4, [10.0, 1.0, 1.0, 1.0], [0.0, 0.0, 3.0], [0.2], [1e-9, 2e-9]]
    sizes = [([each], effective_sample_size(each)) for each in weights]
    states = []
    for number, record in enumerate(payload["rounds"]):
        ratio, total = record["block_ratios"], sum(record["scored_weights"])
        heaviest = max(record["scored_weights"]) / total
        copies = record["ancestors"] and [record["ancestors"].count(n) for n in range(8)]
        says = {1: [min(ratio), max(ratio)], 2: [heaviest], 3: [record["ess"]], 4: [3]}
        says[5] = [max(copies)] if copies else [8]
        for step, numbers in says.items():
            value = {"ess": record["ess"], "resampled": record["resampled"]}
            value |= {"copies": copies, "tokens": 3}
            states.append(state({"round": number, "step": step}, value, numbers))
    module = "./lib/particles.js"
    return {
        "functions": [
            function_cases(module, "blockRatio", ratios),
            function_cases(module, "effectiveSampleSize", sizes),
        ],
        "states": states,
    }


def dial_payload() -> list[dict[str, Any]]:
    return [dict(row) for row in demonstrate_smc_sd()]


def dial_parity(payload: list[dict[str, Any]]) -> dict[str, Any]:
    """α, both χ² and the predicted error of random pairs; every row's numbers."""
    generator = torch.Generator().manual_seed(2)
    drawn = [
        torch.rand(2, size, generator=generator, dtype=torch.float64) + 0.02
        for size in (2, 3, 6) * 6
    ]
    pairs = [(p / p.sum(), q / q.sum()) for p, q in drawn]
    pairs.append((float64([0.5, 0.5, 0.0]), float64([0.5, 0.25, 0.25])))
    module = "./lib/particles.js"
    lists = [(p, q, [p.tolist(), q.tolist()]) for p, q in pairs]
    blocks = [(chi2, K) for chi2 in (0.0, 0.057, 0.209, 3.0) for K in (0, 1, 4)]
    functions = [
        function_cases(
            "./lib/distributions.js",
            "acceptanceRate",
            [(arguments, acceptance_rate(p, q)) for p, q, arguments in lists],
        ),
        function_cases(
            module,
            "chiSquared",
            [(arguments, chi_squared(p, q)) for p, q, arguments in lists],
        ),
        function_cases(
            module,
            "blockChiSquared",
            [([chi2, K], block_chi_squared(chi2, K)) for chi2, K in blocks],
        ),
        function_cases(
            module,
            "firstOrderSquaredError",
            [
                ([*arguments, K], first_order_squared_error(p, q, K))
                for p, q, arguments in lists
                for K in (1, 4)
            ],
        ),
    ]
    shown = {
        "alpha": "alpha",
        "sdTokens": "sd_tokens_per_pass",
        "chi2Token": "chi2_token",
        "chi2Block": "chi2_block",
        "squaredError": "squared_error",
        "samplingFloor": "sampling_floor",
    }
    states = [
        state(
            {"delta": row["delta"]},
            {name: row[key] for name, key in shown.items()}
            | {"smcTokens": row["smc_tokens_per_pass"]},
            [row["delta"], row["sd_tokens_per_pass"], row["smc_tokens_per_pass"]],
        )
        for row in payload
    ]
    return {"functions": functions, "states": states}
