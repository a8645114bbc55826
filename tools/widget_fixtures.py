"""Writes what the tested Python says to ``tests/widgets/fixtures/``, for the widgets to be held against.

For each widget of ``widgets/registry.json`` two files: the payload that it draws, rounded as the notebooks' bridge
rounds it, and in ``parity/`` what it must then compute and show:

- ``functions``: JavaScript functions, each with arguments and the value that Python gives for them;
- ``states``: options to start the widget with, what its ``.value`` must hold then, and numbers that its sentence must
  name.

Run ``python tools/widget_fixtures.py`` after a change to specdec or here; ``tests/widgets/test_fixtures.py``
says when.
"""

import json
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from widget_records import drafting, eagle2, lookahead, smc_sd, trees
from widget_records.parity import float64, function_cases, rounded, state

from specdec.book.rules import accept_lab_case
from specdec.book.small_talk import WORDS, write
from specdec.distributions import next_token_distribution
from specdec.roofline import (
    ACCELERATORS,
    SHAPES,
    Accelerator,
    DecoderShape,
    arithmetic_intensity,
    free_positions,
    pass_bytes,
    pass_flops,
    pass_seconds,
)
from specdec.speculative import (
    best_gamma,
    demonstrate_speculative,
    expected_accepted_tokens,
    speculative_decode,
    speculative_speedup,
)

FIXTURES = Path(__file__).parents[1] / "tests" / "widgets" / "fixtures"


def main() -> None:
    for name, content in fixtures().items():
        text = json.dumps(content, allow_nan=False, separators=(",", ":"))
        (FIXTURES / name).parent.mkdir(parents=True, exist_ok=True)
        (FIXTURES / name).write_text(text + "\n", encoding="utf-8")


def fixtures() -> dict[str, Any]:
    """File name → content of every fixture."""
    payloads = {
        "round-stepper": round_stepper_payload(),
        "accept-lab": accept_lab_payload(),
        "speedup-explorer": demonstrate_speculative(),
        "warper-explorer": warper_payload(),
        "roofline": roofline_payload(),
        "jacobi-grid": lookahead.jacobi_payload(),
        "pass-counter": lookahead.pass_counter_payload(),
        "mask-view": trees.mask_payload(),
        "tree-stepper": trees.tree_stepper_payload(),
        "smc-stepper": smc_sd.stepper_payload(),
        "divergence-dial": smc_sd.dial_payload(),
        "grow-prune": eagle2.grow_payload(),
        "budget-dial": eagle2.budget_payload(),
        "head-explorer": drafting.head_payload(),
        "depth-acceptance": drafting.depth_payload(),
        "feature-toggle": drafting.feature_payload(),
        "chain-unroll": drafting.chain_payload(),
        "calibration-plot": eagle2.calibration_payload(),
        "ngram-pool": lookahead.pool_payload(),
    }
    payloads = {name: rounded(payload) for name, payload in payloads.items()}
    parity = {
        "round-stepper": round_stepper_parity(payloads["round-stepper"]),
        "accept-lab": accept_lab_parity(payloads["accept-lab"]),
        "speedup-explorer": speedup_parity(),
        "warper-explorer": warper_parity(payloads["warper-explorer"]),
        "roofline": roofline_parity(),
        "jacobi-grid": lookahead.jacobi_parity(payloads["jacobi-grid"]),
        "pass-counter": lookahead.pass_counter_parity(payloads["pass-counter"]),
        "mask-view": trees.mask_parity(payloads["mask-view"]),
        "tree-stepper": trees.tree_stepper_parity(payloads["tree-stepper"]),
        "smc-stepper": smc_sd.stepper_parity(payloads["smc-stepper"]),
        "divergence-dial": smc_sd.dial_parity(payloads["divergence-dial"]),
        "grow-prune": eagle2.grow_parity(payloads["grow-prune"]),
        "budget-dial": eagle2.budget_parity(payloads["budget-dial"]),
        "head-explorer": drafting.head_parity(payloads["head-explorer"]),
        "depth-acceptance": drafting.depth_parity(payloads["depth-acceptance"]),
        "feature-toggle": drafting.feature_parity(payloads["feature-toggle"]),
        "chain-unroll": drafting.chain_parity(payloads["chain-unroll"]),
        "calibration-plot": eagle2.calibration_parity(payloads["calibration-plot"]),
        "ngram-pool": lookahead.pool_parity(payloads["ngram-pool"]),
    }
    return {f"{name}.json": payload for name, payload in payloads.items()} | {
        f"parity/{name}.json": values for name, values in parity.items()
    }


def round_stepper_payload() -> dict[str, Any]:
    """Recorded rounds, clean ones and ones that stop early, whose laws depend on the last token."""
    p = float64([0.4, 0.25, 0.15, 0.1, 0.06, 0.04])
    q = float64([0.2, 0.3, 0.2, 0.15, 0.05, 0.1])
    _, rounds = speculative_decode(
        [0],
        target_step=lambda tokens: p.roll(int(tokens[-1])),
        draft_step=lambda tokens: q.roll(int(tokens[-1])),
        gamma=4,
        max_new_tokens=12,
        generator=torch.Generator().manual_seed(28),
    )
    return {"labels": list("ABCDEF"), "rounds": rounds}


def round_stepper_parity(payload: dict[str, Any]) -> dict[str, Any]:
    """The recorded verdicts and some at the edges; every step that tests a guess or ends a round."""
    tests = [test for played in payload["rounds"] for test in played["tests"]]
    edges = [(0.2, 0.2, 0.999), (0.0, 0.5, 0.0), (0.3, 0.6, 0.5), (0.9, 0.1, 0.0)]
    verdicts = [({key: test[key] for key in "pqu"}, test["accepted"]) for test in tests]
    verdicts += [({"p": p, "q": q, "u": u}, u < min(1.0, p / q)) for p, q, u in edges]
    states = []
    for number, played in enumerate(payload["rounds"]):
        first_test = (
            len(played["proposed"]) + 2
        )  # after the start, the guesses and the target's pass
        for position, test in enumerate(played["tests"]):
            options = {"round": number, "step": first_test + position}
            states.append(
                state(options, {"kind": "test"}, [test["p"], test["q"], test["u"]])
            )
        options = {"round": number, "step": first_test + len(played["tests"]) + 1}
        value = {
            "kind": "commit",
            "nAccepted": played["n_accepted"],
            "emitted": played["emitted"],
        }
        states.append(state(options, value, [played["n_accepted"]]))
    return {
        "functions": [
            function_cases(
                "./lib/distributions.js",
                "verdict",
                [([numbers], {"accepted": accepted}) for numbers, accepted in verdicts],
            )
        ],
        "states": states,
    }


def accept_lab_payload() -> dict[str, Any]:
    """Pairs of target and draft, each with what the lab shows about it."""
    pairs = {
        "close": ([0.5, 0.3, 0.15, 0.05], [0.4, 0.4, 0.15, 0.05]),
        "skewed": ([0.2, 0.35, 0.3, 0.15], [0.55, 0.25, 0.1, 0.1]),
        "misses a token": ([0.4, 0.3, 0.2, 0.1], [0.6, 0.0, 0.3, 0.1]),
        "the same": ([0.4, 0.3, 0.2, 0.1], [0.4, 0.3, 0.2, 0.1]),
    }
    return {
        "labels": ["the", "cat", "sat", "on"],
        "presets": [
            {"name": name} | accept_lab_case(*map(float64, pair))
            for name, pair in pairs.items()
        ],
    }


def accept_lab_parity(payload: dict[str, Any]) -> dict[str, Any]:
    """α, distance, residual and every rule's law for many pairs; every preset under every rule."""
    cases = [accept_lab_case(p, q) for p, q in _pairs()]
    formulas = {
        "acceptanceRate": "alpha",
        "totalVariation": "total_variation",
        "residualDistribution": "residual",
    }
    functions = [
        function_cases(
            "./lib/distributions.js",
            function,
            [
                ([case["target_probs"], case["draft_probs"]], case[quantity])
                for case in cases
            ],
        )
        for function, quantity in formulas.items()
    ]
    laws = [
        ([case["target_probs"], case["draft_probs"], rule], {"law": law})
        for case in cases
        for rule, law in case["laws"].items()
    ]
    states = []
    for preset in payload["presets"]:
        for rule, law in preset["laws"].items():
            missed = 0.5 * sum(
                abs(a - b) for a, b in zip(law, preset["target_probs"], strict=True)
            )
            value = {
                "rule": rule,
                "alpha": preset["alpha"],
                "law": law,
                "lawDistance": missed,
            }
            value |= {"distance": preset["total_variation"], "residual": preset["residual"]}
            says = [
                preset["alpha"],
                preset["total_variation"],
                *([missed] if missed > 1e-6 else []),
            ]
            states.append(state({"preset": preset["name"], "rule": rule}, value, says))
    return {
        "functions": [*functions, function_cases("./accept-lab.js", "labState", laws)],
        "states": states,
    }


def speedup_parity() -> dict[str, Any]:
    """The curves over a grid that holds the limits, and the peaks that the text names."""
    alphas = [step / 10 for step in range(11)] + [0.001, 0.333, 0.85, 0.999]
    costs, gammas = [0.0, 0.1, 0.15, 0.4, 1.0], [0, 1, 2, 3, 5, 8, 12, 16]
    tokens = [
        ([alpha, gamma], expected_accepted_tokens(alpha, gamma))
        for alpha in alphas
        for gamma in gammas
    ]
    speedups = [
        ([alpha, gamma, c], speculative_speedup(alpha, gamma, c))
        for alpha in alphas
        for gamma in gammas
        for c in costs
    ]
    best = [([alpha, c, 16], best_gamma(alpha, c, 16)) for alpha in alphas for c in costs]
    settings = [(0.9, 10, 0.1), (0.4, 2, 0.1), (0.4, 12, 0.1), (0.85, 6, 0.15)]
    settings += [(0.05, 3, 0.3), (0.0, 1, 0.0), (1.0, 16, 0.1)]
    states = []
    for alpha, gamma, c in settings:
        value = {
            "tokens": expected_accepted_tokens(alpha, gamma),
            "speedup": speculative_speedup(alpha, gamma, c),
            "bestGamma": best_gamma(alpha, c, 16),
        }
        options = {"alpha": alpha, "gamma": gamma, "c": c}
        states.append(
            state(
                options,
                value | options,
                [*options.values(), value["tokens"], value["speedup"]],
            )
        )
    return {
        "functions": [
            function_cases("./speedup-explorer.js", "expectedAcceptedTokens", tokens),
            function_cases("./speedup-explorer.js", "speculativeSpeedup", speedups),
            function_cases("./speedup-explorer.js", "bestGamma", best),
        ],
        "states": states,
    }


def warper_payload() -> dict[str, Any]:
    """What follows "old" in 20,000 words of the book's small language, smoothed, and some ways to bend it."""
    text = write(20_000, torch.Generator().manual_seed(0))
    following = text[1:][text[:-1] == WORDS.index("old")]
    counts, followed = (
        torch.bincount(tokens, minlength=len(WORDS)).double()
        for tokens in (text, following)
    )
    logits = [round(logit, 4) for logit in (followed + counts / 100).log().tolist()]
    settings = [
        (1.0, None, None),
        (0.5, None, None),
        (2.0, None, None),
        (1.0, 3, None),
        (1.0, None, 0.7),
        (0.0, None, None),
    ]
    presets = [
        {"temperature": temperature, "top_k": top_k, "top_p": top_p}
        | {"probs": _warped(logits, temperature, top_k, top_p)}
        for temperature, top_k, top_p in settings
    ]
    return {"labels": WORDS, "logits": logits, "presets": presets}


def warper_parity(payload: dict[str, Any]) -> dict[str, Any]:
    """Every setting on random logits, ties and a token that must not be drawn; some states of the payload."""
    generator = torch.Generator().manual_seed(1)
    drawn = (6 * torch.rand(5, 9, generator=generator, dtype=torch.float64)).tolist()
    tied = [[1.0, 1.0, 1.0, 1.0], [2.0, 1.0, 1.0, 0.0, 0.0], [300.0, -300.0, 0.0], [0.5]]
    settings = [
        (temperature, top_k, top_p)
        for temperature in (0.0, 0.05, 0.7, 1.0, 2.0)
        for top_k in (None, 1, 3, 50)
        for top_p in (None, 0.05, 0.5, 0.9, 1.0)
    ]
    cases = [
        ([logits, *setting], _warped(logits, *setting))
        for logits in [*drawn, *tied]
        for setting in settings
    ]
    states = []
    for temperature, top_k, top_p in [
        (0.7, 5, 0.9),
        (1.0, 23, 0.7),
        (2.0, 3, 1.0),
        (1.0, 23, 1.0),
        (0.05, 4, 0.5),
        (0.0, 9, 0.5),
    ]:
        probs = _warped(payload["logits"], temperature, top_k, top_p)
        kept = sum(mass > 0 for mass in probs)
        options = {"temperature": temperature, "topK": top_k, "topP": top_p}
        says = [] if kept == 1 or kept == len(probs) else [max(probs)]
        states.append(state(options, {"probs": probs, "kept": kept}, [temperature, *says]))
    return {
        "functions": [
            function_cases("./warper-explorer.js", "nextTokenDistribution", cases)
        ],
        "states": states,
    }


def _warped(
    logits: list[float], temperature: float, top_k: int | None, top_p: float | None
) -> list[float]:
    return next_token_distribution(float64(logits), temperature, top_k, top_p).tolist()


def roofline_payload() -> dict[str, Any]:
    """Accelerators, models, and passes whose times must lie on the widget's lines."""
    points = [
        {
            "accelerator": accelerator.name,
            "shape": shape.name,
            "batch": batch,
            "positions": positions,
            "context": context,
            "seconds": pass_seconds(accelerator, shape, batch, positions, context),
            "free": free_positions(accelerator, shape, batch, context),
        }
        for accelerator in ACCELERATORS
        for shape in SHAPES
        for batch in (1, 8, 64)
        for positions in (1, 5, 9, 17)
        for context in (0, 2000)
    ]
    return {
        "accelerators": [_accelerator(accelerator) for accelerator in ACCELERATORS],
        "shapes": [_shape(shape) for shape in SHAPES],
        "points": points,
    }


def roofline_parity() -> dict[str, Any]:
    """Bytes, operations, times and free positions over a grid; states on both sides of the ridge."""
    passes = [
        (batch, positions, context)
        for batch in (1, 7, 512)
        for positions in (1, 17)
        for context in (0, 128_000)
    ]
    pairs = [
        (accelerator, shape, _accelerator(accelerator), _shape(shape))
        for accelerator in ACCELERATORS
        for shape in SHAPES
    ]
    shapes = [(shape, _shape(shape)) for shape in SHAPES]
    module = "./roofline.js"
    functions = [
        function_cases(
            module,
            "passFlops",
            [
                ([data, *at], pass_flops(shape, *at))
                for shape, data in shapes
                for at in passes
            ],
        ),
        function_cases(
            module,
            "passBytes",
            [
                ([data, batch, context], pass_bytes(shape, batch, context))
                for shape, data in shapes
                for batch, _, context in passes
            ],
        ),
        function_cases(
            module,
            "arithmeticIntensity",
            [
                ([data, *at], arithmetic_intensity(shape, *at))
                for shape, data in shapes
                for at in passes
            ],
        ),
        function_cases(
            module,
            "ridge",
            [([data], accelerator.ridge) for accelerator, _, data, _ in pairs],
        ),
        function_cases(
            module,
            "passTimes",
            [
                ([*data, *at], {"seconds": pass_seconds(accelerator, shape, *at)})
                for accelerator, shape, *data in pairs
                for at in passes
            ],
        ),
        function_cases(
            module,
            "freePositions",
            [
                (
                    [*data, batch, context],
                    free_positions(accelerator, shape, batch, context),
                )
                for accelerator, shape, *data in pairs
                for batch, _, context in passes
            ],
        ),
    ]
    states = [
        _roofline_state(accelerator, shape, *at)
        for accelerator in ACCELERATORS
        for shape in SHAPES
        for at in [(1, 4, 2000), (64, 4, 0), (512, 16, 500), (256, 0, 0)]
    ]
    return {"functions": functions, "states": states}


def _roofline_state(
    accelerator: Accelerator, shape: DecoderShape, batch: int, gamma: int, context: int
) -> dict[str, Any]:
    seconds = pass_seconds(accelerator, shape, batch, gamma + 1, context)
    free = free_positions(accelerator, shape, batch, context)
    options = {"accelerator": accelerator.name, "shape": shape.name}
    options |= {"batch": batch, "gamma": gamma, "context": context}
    value = {
        "seconds": seconds,
        "freePositions": free,
        "intensity": arithmetic_intensity(shape, batch, gamma + 1, context),
        "ridge": accelerator.ridge,
        "slowdown": seconds / pass_seconds(accelerator, shape, batch, 1, context),
    }
    says = [1000 * seconds, gamma + 1, *([free] if free else [])]
    return state(options, options | value, says)


def _accelerator(accelerator: Accelerator) -> dict[str, Any]:
    return {
        name: getattr(accelerator, name)
        for name in ("name", "flops_per_second", "bytes_per_second")
    }


def _shape(shape: DecoderShape) -> dict[str, Any]:
    names = ("name", "weights_read", "bytes_per_number", "num_layers", "embed_dim")
    return {name: getattr(shape, name) for name in (*names, "cache_bytes_per_token")}


def _pairs() -> list[tuple[Tensor, Tensor]]:
    generator = torch.Generator().manual_seed(0)
    edges = [
        ([0.5, 0.3, 0.2], [0.2, 0.3, 0.5]),
        ([0.4, 0.3, 0.2, 0.1], [0.4, 0.3, 0.2, 0.1]),
        ([1.0, 0.0], [0.0, 1.0]),
        ([0.5, 0.5, 0.0], [0.0, 0.5, 0.5]),
        ([1.0, 0.0, 0.0], [0.2, 0.3, 0.5]),
    ]
    sizes = [2, 3, 4, 6] * 8
    drawn = [
        torch.rand(2, size, generator=generator, dtype=torch.float64) for size in sizes
    ]
    return [(float64(p), float64(q)) for p, q in edges] + [
        (p / p.sum(), q / q.sum()) for p, q in drawn
    ]


if __name__ == "__main__":
    main()
