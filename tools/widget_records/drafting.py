"""Records for the widgets of drafting heads: head accuracies, feature uncertainty, acceptance by depth, the chain."""

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import mse_loss

from specdec.eagle import EagleDrafter, feature_uncertainty_demo, train_draft_head
from specdec.medusa import expected_accepted_length
from specdec.training import draw_windows, next_token_loss, train
from specdec.transformer import GPTModel
from specdec.tree import (
    DepthAcceptance,
    acceptance_of_chains,
    greedy_continuations,
    verify_tree_greedy,
)

from .parity import function_cases, rounded, state

_DEPTH = 4


def head_payload() -> dict[str, Any]:
    """Some rates, and what heads with such rates bring on 400 drawn texts."""
    presets = {
        "all at 0.9": [0.9, 0.9, 0.9],
        "falling": [0.7, 0.49, 0.343],
        "deep heads wrong": [0.8, 0.0, 0.0],
    }
    acceptance = _drawn_acceptance([0.8, 0.65, 0.55], follows=0.1, seed=4)
    rates = rounded(acceptance["given_shallower"])
    demo = {
        "name": "the drawn heads",
        "probs": rates,
        "expected": expected_accepted_length(rates),
        "tokens_per_pass": 1 + sum(acceptance["cumulative"]),
    }
    return {
        "presets": [
            {"name": name, "probs": probs, "expected": expected_accepted_length(probs)}
            for name, probs in presets.items()
        ],
        "demo": demo,
    }


def head_parity(payload: dict[str, Any]) -> dict[str, Any]:
    """The expected length of many lists of rates; every preset and some states between."""
    steps = [0.0, 0.3, 0.7, 1.0]
    cases = [[a, b, c] for a in steps for b in steps for c in steps]
    cases += [[decay**k for k in range(1, 6)] for decay in (0.9, 0.7, 0.5)]
    shown = [entry["probs"] for entry in payload["presets"]] + [[0.6, 0.6, 0.25]]
    states = []
    for probs in [*shown, payload["demo"]["probs"]]:
        tokens = expected_accepted_length(probs)
        value = {"probs": probs, "tokens": tokens, "p1": probs[0]}
        states.append(state({"probs": probs}, value, [tokens, probs[0], len(probs) + 1]))
    states[-1]["says"].append(payload["demo"]["tokens_per_pass"])
    expected = [([probs], expected_accepted_length(probs)) for probs in [*cases, *shown]]
    return {
        "functions": [
            function_cases("./head-explorer.js", "expectedAcceptedLength", expected)
        ],
        "states": states,
    }


def depth_payload() -> dict[str, Any]:
    """A chain whose guesses build on each other and a fan whose guesses don't, on 400 drawn texts."""
    chain = _drawn_acceptance([0.9, 0.85, 0.8, 0.75], follows=0.15, seed=5)
    fan = _drawn_acceptance([0.78, 0.66, 0.55, 0.5], follows=0.05, seed=6)
    return {
        "contexts": 400,
        "series": [
            {"name": "a chain", "kind": "chain"} | chain,
            {"name": "a fan", "kind": "fan"} | fan,
        ],
    }


def depth_parity(payload: dict[str, Any]) -> dict[str, Any]:
    """Cumulative rates and tokens per pass of drawn chains; every measure at every depth."""
    drawn = [
        _drawn_acceptance([rate] * _DEPTH, follows=0.0, seed=seed, count=20)
        for seed, rate in enumerate([0.05, 0.3, 0.5, 0.7, 0.9, 1.0] * 5)
    ]
    cumulative = [([entry["given_shallower"]], entry["cumulative"]) for entry in drawn]
    tokens = [
        ([entry["cumulative"], depth], expected_accepted_length(rates))
        for entry in drawn
        for depth in range(_DEPTH + 1)
        if None not in (rates := entry["given_shallower"][:depth])
    ]
    states = []
    for measure in ("cumulative", "given_shallower", "own"):
        for depth in range(1, _DEPTH + 1):
            rates = [entry[measure][depth - 1] for entry in payload["series"]]
            made = [1 + sum(entry["cumulative"][:depth]) for entry in payload["series"]]
            options = {"measure": measure, "depth": depth}
            value = options | {"rates": rates, "tokens": made}
            states.append(state(options, value, [depth, *rates, *made]))
    module = "./depth-acceptance.js"
    return {
        "functions": [
            function_cases(module, "cumulativeRates", cumulative),
            function_cases(module, "tokensPerPass", tokens),
        ],
        "states": states,
    }


def _drawn_acceptance(
    rates: list[float], follows: float, seed: int, count: int = 400
) -> DepthAcceptance:
    """Chains right with ``rates`` by depth, more often by ``follows`` where the guess before is right."""
    generator = torch.Generator().manual_seed(seed)
    draws = torch.rand(count, len(rates), generator=generator, dtype=torch.float64)
    right = torch.zeros(count, len(rates), dtype=torch.bool)
    before = torch.zeros(count, dtype=torch.bool)
    for depth, rate in enumerate(rates):
        before = right[:, depth] = draws[:, depth] < rate + follows * before
    return acceptance_of_chains(right.long(), torch.ones_like(right).long())


def feature_payload() -> dict[str, Any]:
    return feature_uncertainty_demo()


def feature_parity(payload: dict[str, Any]) -> dict[str, Any]:
    """Mean squared errors of drawn vectors; both tokens, with the blind prediction in the middle and off it."""
    generator = torch.Generator().manual_seed(7)
    pairs = torch.rand(20, 2, 5, generator=generator, dtype=torch.float64)
    errors = [([a.tolist(), b.tolist()], mse_loss(a, b).item()) for a, b in pairs]
    branches = torch.tensor(payload["branches"], dtype=torch.float64)
    states = []
    for token in (0, 1):
        for aim in (0.0, 0.25, 0.5, 1.0):
            blind = torch.lerp(branches[0], branches[1], aim)
            missed = [_error(blind, branch) for branch in branches]
            options = {"token": token, "aim": aim}
            value = {
                "blindError": missed[token],
                "blindWorst": max(missed),
                "awareError": 0,
            }
            states.append(state(options, options | value, [missed[token], max(missed)]))
    return {
        "functions": [function_cases("./feature-toggle.js", "meanSquaredError", errors)],
        "states": states,
    }


def _error(a: Tensor, b: Tensor) -> float:
    return mse_loss(a, b).item()


def chain_payload() -> dict[str, Any]:
    """Chains of a head that was trained for a moment, with the chosen token fed back and with a pinned one."""
    generator = torch.Generator().manual_seed(8)
    text = torch.tensor([0, 1, 2, 0, 3, 1, 4, 5] * 14)
    gpt = GPTModel(6, 16, 2, 1, max_seq_len=24, generator=generator).double()
    train(
        lambda: next_token_loss(gpt, draw_windows(text, 8, 16, generator)),
        gpt.parameters(),
        steps=60,
        learning_rate=1e-2,
    )
    drafter = EagleDrafter(gpt, 2, generator)
    train_draft_head(
        drafter,
        text,
        steps=40,
        window=16,
        batch=8,
        token_weight=1.0,
        learning_rate=1e-2,
        generator=generator,
    )
    context, length = text[:9], 6
    pins = {"the chosen token": None, "always “a”": 0}
    return {
        "labels": list("abcdef"),
        "lm_head": gpt.lm_head.weight.tolist(),
        "greedy": greedy_continuations(gpt, context[None], length + 1)[0].tolist(),
        "chains": [
            {"name": name, "pinned_token": pin} | drafter.draft_chain(context, length, pin)
            for name, pin in pins.items()
        ],
    }


def chain_parity(payload: dict[str, Any]) -> dict[str, Any]:
    """Laws that an LM head reads off; every link of each chain, and what chains of each length bring."""
    generator = torch.Generator().manual_seed(9)
    heads = torch.rand(8, 5, 4, generator=generator, dtype=torch.float64) * 8 - 4
    features = torch.rand(8, 4, generator=generator, dtype=torch.float64)
    laws = [
        ([head.tolist(), feature.tolist()], torch.softmax(head @ feature, dim=0).tolist())
        for head, feature in zip(heads, features, strict=True)
    ]
    states = []
    greedy, longest = payload["greedy"], len(payload["greedy"]) - 1
    for number, chain in enumerate(payload["chains"]):
        tokens = chain["draft_tokens"]
        for step, (token, confidence) in enumerate(
            zip(tokens, chain["confidences"], strict=True)
        ):
            options = {"chain": number, "length": longest, "step": step}
            states.append(state(options, options | {"token": token}, [confidence]))
        for length in range(1, longest + 1):
            tree = {"tokens": tokens[:length], "parents": list(range(-1, length - 1))}
            kept = verify_tree_greedy(tree, greedy[0], greedy[1 : length + 1])
            value = {"kind": "verify", "emitted": kept["emitted"]}
            value["accepted"] = kept["accepted_len"]
            options = {"chain": number, "length": length, "step": length}
            states.append(state(options, options | value, [len(kept["emitted"])]))
    return {
        "functions": [function_cases("./chain-unroll.js", "readOff", laws)],
        "states": states,
    }
