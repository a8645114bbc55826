"""What the chapter on Medusa tells of the stochastic language, measured on one trained target.

    target = trained_target(seed=0)
    model = heads_on_data(target, seed=0)
    head_acceptance(model, target)              # how often each head is right, counted in three ways
    measure_shapes(model, target)               # what trees of several shapes bring a pass

Every tree and chain here hangs below the target's own next token: depth 1 is head 1, for the token after that.
"""

import time
from collections.abc import Callable
from typing import TypedDict

import torch
from torch import Tensor

from specdec.book.stochastic_language import TrainedTarget, held_out_windows
from specdec.medusa import (
    MedusaModel,
    draft_chains,
    hit_rates,
    medusa_decode,
    train_heads,
)
from specdec.training import draw_windows
from specdec.tree import (
    DepthAcceptance,
    RankPath,
    acceptance_of_chains,
    every_place,
    greedy_continuations,
    likeliest_places,
)

N_HEADS, HEAD_STEPS = 4, 400
CONTEXTS, CONTEXT_LENGTH = 400, 20
BUDGET = 8
PROMPTS, PROMPT_LENGTH, NEW_TOKENS = 40, 12, 28


class ShapeMeasure(TypedDict):
    """What trees of one shape bring in whole greedy runs."""

    shape: str
    places: list[RankPath]
    tokens_per_pass: float


class MedusaMeasures(TypedDict):
    """All that the record holds of one seed."""

    training_seconds: float  # of processor time, for the heads
    data: DepthAcceptance  # heads trained on the language's text
    greedy_texts: DepthAcceptance  # heads trained on what the target itself says greedily
    shapes: list[ShapeMeasure]


def measure_medusa(target: TrainedTarget, seed: int) -> MedusaMeasures:
    """Train heads in two ways and measure them on held-out text."""
    started = time.process_time()
    model = heads_on_data(target, seed)
    seconds = time.process_time() - started
    return MedusaMeasures(
        training_seconds=seconds,
        data=head_acceptance(model, target),
        greedy_texts=head_acceptance(heads_on_greedy_texts(target, seed), target),
        shapes=measure_shapes(model, target),
    )


def heads_on_data(
    target: TrainedTarget, seed: int, progress: str | None = None
) -> MedusaModel:
    """Four heads trained on the text that the target was trained on."""
    generator = torch.Generator().manual_seed(2000 + seed)

    def windows() -> Tensor:
        return draw_windows(target.training_text, 12, 40, generator)

    return _trained(target, windows, progress)


def heads_on_greedy_texts(target: TrainedTarget, seed: int) -> MedusaModel:
    """Four heads trained on 600 texts, each 20 symbols of the language and 20 that the target says greedily."""
    generator = torch.Generator().manual_seed(3000 + seed)
    beginnings = draw_windows(target.training_text, 600, 20, generator)
    texts = torch.cat(
        [beginnings, greedy_continuations(target.model, beginnings, 20)], dim=1
    )

    def windows() -> Tensor:
        return texts[torch.randint(len(texts), (12,), generator=generator)]

    return _trained(target, windows)


def head_acceptance(model: MedusaModel, target: TrainedTarget) -> DepthAcceptance:
    """The heads' likeliest guesses against greedy decoding, after 400 held-out contexts of 20 symbols."""
    contexts = held_out_windows(target.held_out, CONTEXTS, CONTEXT_LENGTH)
    truth = greedy_continuations(target.model, contexts, 1 + len(model.heads))
    return acceptance_of_chains(draft_chains(model, contexts)[:, 1:], truth[:, 1:])


def tree_shapes(model: MedusaModel, target: TrainedTarget) -> dict[str, list[RankPath]]:
    """The shapes that the chapter compares. The tuned one is chosen on training text, not on what it is measured on."""
    contexts = held_out_windows(target.training_text, CONTEXTS, CONTEXT_LENGTH)
    return {
        "chain of 4": every_place([1] * N_HEADS),
        f"first {BUDGET} breadth-first": every_place([3] * N_HEADS)[:BUDGET],
        f"likeliest {BUDGET}": likeliest_places(hit_rates(model, contexts, 3), BUDGET),
        "full, 2 wide": every_place([2] * N_HEADS),
    }


def measure_shapes(model: MedusaModel, target: TrainedTarget) -> list[ShapeMeasure]:
    """Continue held-out prompts greedily with trees of each shape.

    Raises:
        RuntimeError: a run wrote something else than greedy decoding, so that its figure would be worthless.
    """
    prompts = held_out_windows(target.held_out, PROMPTS, PROMPT_LENGTH)
    greedy = greedy_continuations(target.model, prompts, NEW_TOKENS).tolist()
    measures = []
    for shape, places in tree_shapes(model, target).items():
        runs = [
            medusa_decode(model, prompt, NEW_TOKENS, places) for prompt in prompts.tolist()
        ]
        if [run.tokens for run in runs] != greedy:
            raise RuntimeError(f"{shape} wrote something else than greedy decoding")
        rounds = [record for run in runs for record in run.trace]
        emitted = sum(len(record["emitted"]) for record in rounds)
        measures.append(
            ShapeMeasure(shape=shape, places=places, tokens_per_pass=emitted / len(rounds))
        )
    return measures


def _trained(
    target: TrainedTarget, windows: Callable[[], Tensor], progress: str | None = None
) -> MedusaModel:
    model = MedusaModel(target.model, N_HEADS)
    train_heads(model, windows, HEAD_STEPS, progress=progress)
    return model.eval().requires_grad_(False)
