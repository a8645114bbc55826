"""Jacobi iteration, the pass counter and the n-gram pool on texts that are made by a rule."""

from typing import Any

import torch

from specdec.lookahead import (
    DecodingPass,
    NgramPool,
    Oracle,
    accepted_prefix_length,
    carry_over,
    greedy_decode,
    jacobi_decode,
    lookahead_decode,
    pass_grid,
)

from .parity import function_cases, state

_THREE_CYCLE = {3: 1, 1: 2, 2: 3}


def _runs_of_three(tokens: list[int]) -> int:
    """0 0 0 1 1 1 …: half of what comes is in what was."""
    last = tokens[-1]
    return (last + 1) % 4 if tokens[-3:] == [last] * 3 else last


STREAMS: dict[str, tuple[Oracle, list[int]]] = {
    "constant": (lambda tokens: tokens[-1], [0]),
    "runs of three": (_runs_of_three, [0]),
    "3-cycle": (lambda tokens: _THREE_CYCLE.get(tokens[-1], 1), [3]),
    "sums of two": (lambda tokens: (tokens[-1] + tokens[-2]) % 10, [1, 1]),
}
BLOCK_SIZES, NGRAM_SIZES = [1, 2, 3, 5, 8], [1, 2, 3, 4, 6]


def jacobi_payload() -> dict[str, Any]:
    return {
        "streams": [
            _run(name, prompt, block_size, *jacobi_decode(oracle, prompt, 12, block_size))
            for name, (oracle, prompt) in STREAMS.items()
            for block_size in (1, 2, 5)
        ]
    }


def _run(
    name: str,
    prompt: list[int],
    block_size: int,
    tokens: list[int],
    _: int,
    trace: list[DecodingPass],
) -> dict[str, Any]:
    """What a decoder returned, as the widgets take it."""
    return {
        "name": name,
        "prompt": prompt,
        "block_size": block_size,
        "tokens": tokens,
        "passes": trace,
    }


def jacobi_parity(payload: dict[str, Any]) -> dict[str, Any]:
    """Every recorded pass; guesses that nothing or too little is left for; where a run begins and ends."""
    passes = [(run, record) for run in payload["streams"] for record in run["passes"]]
    accepted = [
        ([record["guess"], record["refined"]], record["n_accepted"]) for _, record in passes
    ]
    accepted += [
        ([guess, refined], accepted_prefix_length(guess, refined))
        for guess, refined in [([1], [2]), ([1, 2], [1, 2]), ([1, 2, 3], [2, 2, 3])]
    ]
    guesses = [
        ([verified, carried, size], carry_over(size)(verified, carried).guess)
        for verified in ([7], [1, 2, 3])
        for carried in (None, [], [4], [4, 5, 6])
        for size in (1, 2, 5)
    ]
    states = []
    for run in payload["streams"]:
        last = len(run["passes"]) - 1
        for index, record in enumerate(run["passes"]):
            options = {"stream": run["name"], "blockSize": run["block_size"]}
            options |= {"step": 2 * index + 1}
            locked = record["n_verified"] - len(run["prompt"]) + record["n_accepted"]
            value = {"pass": index + 1, "nAccepted": record["n_accepted"], "locked": locked}
            says = [record["n_accepted"], len(record["carried"]), locked]
            if index == last:
                says.append(len(run["passes"]))
            states.append(state(options, options | value, says))
    return {
        "functions": [
            function_cases("./lib/passes.js", "acceptedPrefixLength", accepted),
            function_cases("./lib/passes.js", "carriedGuess", guesses),
        ],
        "states": states,
    }


def pass_counter_payload() -> dict[str, Any]:
    return {
        "streams": [
            {"name": name} | pass_grid(oracle, prompt, 24, BLOCK_SIZES, NGRAM_SIZES)
            for name, (oracle, prompt) in STREAMS.items()
        ]
    }


def pass_counter_parity(payload: dict[str, Any]) -> dict[str, Any]:
    """Single runs, whose passes must be those of the grid; states of every stream."""
    cases, states = [], []
    for grid in payload["streams"]:
        oracle, prompt = STREAMS[grid["name"]]
        for block_size, ngram_n in [(1, 3), (2, 1), (5, 3), (5, 6), (8, 4)]:
            passes = _passes(oracle, prompt, grid["n_new"], block_size, ngram_n)
            per_pass = [grid["n_new"] / count for count in passes]
            cases.append(
                (
                    [grid, block_size, ngram_n],
                    {"passes": passes, "tokensPerPass": per_pass},
                )
            )
            options = {"stream": grid["name"], "blockSize": block_size, "ngramN": ngram_n}
            value = dict(zip(("greedy", "jacobi", "lookahead"), passes, strict=True))
            states.append(
                state(
                    options,
                    options | value | {"tokensPerPass": per_pass},
                    [*passes, per_pass[2]],
                )
            )
    return {
        "functions": [function_cases("./pass-counter.js", "passesAt", cases)],
        "states": states,
    }


def _passes(
    oracle: Oracle, prompt: list[int], n: int, block_size: int, ngram_n: int
) -> list[int]:
    """Of the three decoders, one run each; of the iterating ones by the records of their traces."""
    _, greedy = greedy_decode(oracle, prompt, n)
    _, _, jacobi = jacobi_decode(oracle, prompt, n, block_size)
    _, _, lookahead = lookahead_decode(oracle, prompt, n, block_size, ngram_n)
    return [greedy, len(jacobi), len(lookahead)]


def pool_payload() -> dict[str, Any]:
    settings = [("3-cycle", 3), ("runs of three", 2), ("sums of two", 3)]
    return {
        "streams": [
            _run(name, prompt, 5, *lookahead_decode(oracle, prompt, 18, 5, ngram_n))
            | {"ngram_n": ngram_n}
            for name, ngram_n in settings
            for oracle, prompt in [STREAMS[name]]
        ]
    }


def pool_parity(payload: dict[str, Any]) -> dict[str, Any]:
    """What pools of random texts answer for every token; every step of every run."""
    generator = torch.Generator().manual_seed(6)
    texts = [
        torch.randint(4, (length,), generator=generator).tolist()
        for length in (1, 2, 5, 12, 30)
    ]
    answers = []
    for text in texts:
        for ngram_n in (1, 2, 4):
            pool = NgramPool(ngram_n)
            pool.extend(text[: len(text) // 2])
            pool.extend(text)
            answers += [([text, ngram_n, key], pool.look_up(key)) for key in range(4)]
    states = []
    for run in payload["streams"]:
        for index, record in enumerate(run["passes"]):
            value = {"pass": index + 1, "poolSize": record["pool_size"]}
            value |= {"hit": record["hit"] is not None, "nAccepted": record["n_accepted"]}
            options = {"stream": run["name"], "step": 2 * index}
            says = [record["key"], record["pool_size"], *(record["hit"] or [])]
            states.append(state(options, options | value, says))
            locked = record["n_verified"] - len(run["prompt"]) + record["n_accepted"]
            options = {"stream": run["name"], "step": 2 * index + 1}
            says = [record["n_accepted"], locked, len(record["guess"])]
            states.append(state(options, options | value | {"locked": locked}, says))
    return {
        "functions": [function_cases("./ngram-pool.js", "lookUp", answers)],
        "states": states,
    }
