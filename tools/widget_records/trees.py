"""Records for the widgets of candidate trees: the attention-mask view and the verification stepper."""

from typing import Any

import torch

from specdec.book.toy_language import encode
from specdec.tree import (
    TreeRound,
    accepted_path,
    build_candidate_tree,
    greedy_autoregressive,
    greedy_next_ids_from_map,
    tree_attention_mask,
    tree_depths,
    tree_pass_inputs,
    tree_path,
    verify_tree_greedy,
)

from .parity import function_cases, state

TREES = "./lib/trees.js"


def mask_payload() -> dict[str, Any]:
    """Guesses after two words of the toy language, as chapter 1 has them, and what one pass over them needs."""
    past, labels = ["the", "cat"], ["sat", "ran", ".", "the", ".", "dog", "sat"]
    encode(" ".join(past + labels))  # they are words of the language
    parents = [-1, -1, 0, 0, 1, 3, 5]
    mask, positions = tree_pass_inputs(parents, len(past))
    return {
        "labels": labels,
        "parents": parents,
        "past": past,
        "mask": mask.tolist(),
        "positions": positions.tolist(),
    }


def mask_parity(payload: dict[str, Any]) -> dict[str, Any]:
    """Depths, paths and masks of random trees; every node of the payload under the tree's rule."""
    trees = _random_trees(40)
    passes = [(parents, past) for parents in trees for past in (0, 3)]
    functions = [
        function_cases(
            TREES, "treeDepths", [([tree], tree_depths(tree)) for tree in trees]
        ),
        function_cases(
            TREES,
            "treePath",
            [
                ([tree, node], tree_path(tree, node))
                for tree in trees
                for node in range(len(tree))
            ],
        ),
        function_cases(
            TREES,
            "treeAttentionMask",
            [([tree], tree_attention_mask(tree).tolist()) for tree in trees],
        ),
        function_cases(
            TREES,
            "treePassInputs",
            [([parents, past], _pass_inputs(parents, past)) for parents, past in passes],
        ),
    ]
    states = []
    for node, row in enumerate(payload["mask"]):
        sees = [column for column, seen in enumerate(row) if seen]
        value = {
            "sees": sees,
            "path": tree_path(payload["parents"], node),
            "position": payload["positions"][node],
            "leaks": [],
        }
        options = {"node": node, "rule": "tree"}
        states.append(
            state(options, options | value, [len(sees), len(row), value["position"]])
        )
    return {"functions": functions, "states": states}


def _pass_inputs(parents: list[int], past: int) -> dict[str, Any]:
    mask, positions = tree_pass_inputs(parents, past)
    return {"mask": mask.tolist(), "positions": positions.tolist()}


def tree_stepper_payload() -> dict[str, Any]:
    """Trees of several widths under one target that counts upwards: what widening the root does."""
    guesses = [[5, 1, 6], [2, 7], [3], [7, 4]]
    widths = {
        f"root {width} wide": [guesses[0][:width], *guesses[1:]] for width in (1, 2, 3)
    }
    widths["one chain"] = [[1], [2], [3], [4]]
    return {
        "labels": list("abcdefgh"),
        "rounds": [
            {"name": name} | _counted_round(levels) for name, levels in widths.items()
        ],
    }


def _counted_round(levels: list[list[int]]) -> dict[str, Any]:
    """Verify the full tree over these levels' guesses, below token 0."""
    chain = {token: (token + 1) % 8 for token in range(8)}
    tree = build_candidate_tree(levels)
    root_next, *node_next = greedy_next_ids_from_map(chain, [0, *tree["tokens"]])
    path = accepted_path(tree, root_next, node_next)
    record = TreeRound(
        context=[6, 7, 0],
        tree={"tokens": tree["tokens"], "parents": tree["parents"]},
        root_next=root_next,
        node_next=node_next,
        accepted_nodes=path,
        emitted=verify_tree_greedy(tree, root_next, node_next)["emitted"],
        cache_length=3 + len(path),
    )
    reference = greedy_autoregressive(chain, 0, len(record["emitted"]))
    return record | {"greedy_reference": reference}


def tree_stepper_parity(payload: dict[str, Any]) -> dict[str, Any]:
    """Verifications of random trees; the first and last step of every recorded round."""
    generator = torch.Generator().manual_seed(3)
    verifications, paths = [], []
    for parents in _random_trees(120):
        tokens, node_next = torch.randint(
            3, (2, len(parents)), generator=generator
        ).tolist()
        root_next = int(torch.randint(3, (1,), generator=generator))
        tree = {"tokens": tokens, "parents": parents}
        arguments = [tree, root_next, node_next]
        verifications.append((arguments, dict(verify_tree_greedy(*arguments))))
        paths.append((arguments, accepted_path(*arguments)))
    states = []
    for number, record in enumerate(payload["rounds"]):
        value = {
            "accepted": record["accepted_nodes"],
            "emitted": record["emitted"],
            "greedy": record["greedy_reference"],
        }
        nodes, depths = record["node_next"], tree_depths(record["tree"]["parents"])
        steps = max(depths) + 1 + len(record["accepted_nodes"]) + 2  # … test, bonus, commit
        states.append(state({"round": number, "step": 0}, value, [len(record["context"])]))
        states.append(
            state({"round": number, "step": max(depths) + 1}, value, [len(nodes)])
        )
        states.append(
            state(
                {"round": number, "step": steps},
                value | {"kind": "commit"},
                [len(record["emitted"]), len(record["accepted_nodes"])],
            )
        )
    return {
        "functions": [
            function_cases(TREES, "verifyTreeGreedy", verifications),
            function_cases(TREES, "acceptedPath", paths),
        ],
        "states": states,
    }


def _random_trees(count: int) -> list[list[int]]:
    """Trees of 1 to 12 nodes, deep and wide ones."""
    generator = torch.Generator().manual_seed(2)
    return [
        [
            int(torch.randint(-1, node, (1,), generator=generator)) if node else -1
            for node in range(1 + number % 12)
        ]
        for number in range(count)
    ]
