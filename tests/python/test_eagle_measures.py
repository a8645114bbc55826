"""What the chapters on EAGLE measure is measured right: on a small target, against independent ways of counting."""

import pytest
import torch
from conftest import seeded

from specdec.book import eagle_measures
from specdec.book.eagle_measures import (
    expected_calibration_error,
    laws_below_root,
    measure_calibration,
    measure_chains,
    measure_trees,
    path_probabilities,
)
from specdec.book.records import load_seeds, mean_and_spread, with_spread
from specdec.book.stochastic_language import TrainedTarget, draw_language
from specdec.eagle import EagleDrafter, draft_state_after
from specdec.eagle2 import expand_draft_tree
from specdec.enumeration import autoregressive_law
from specdec.generation import model_step
from specdec.transformer import GPTModel, KVCache
from specdec.tree import tree_path


@pytest.fixture(scope="module")
def target():
    """An untrained target: what is measured is meaningless, that it is measured right is not."""
    generator = seeded(0)
    language = draw_language(generator)
    text = language.sample(400, generator)
    model = GPTModel(16, 16, 2, 1, 40, generator=generator).double().eval()
    return TrainedTarget(language, model.requires_grad_(False), text, text, [], 0.0)


@pytest.fixture
def small(monkeypatch):
    sizes = {"CHAIN_CONTEXTS": 12, "TREE_CONTEXTS": 6, "TUNING_CONTEXTS": 4, "PROMPTS": 2}
    for name, size in sizes.items():
        monkeypatch.setattr(eagle_measures, name, size)
    train = eagle_measures.train_draft_head
    monkeypatch.setattr(
        eagle_measures,
        "train_draft_head",
        lambda *args, **recipe: train(*args, **(recipe | {"steps": 2})),
    )


def test_every_way_of_training_is_measured(target, small):
    drafters, chains = measure_chains(target, seed=0)
    assert [(chain["loss"], chain["recipe"]) for chain in chains] == list(drafters)
    assert len(drafters) == 6 and eagle_measures.MAIN_HEAD in drafters
    assert all(len(chain["acceptance"]["cumulative"]) == 5 for chain in chains)
    weights = [drafter.head.fusion.weight for drafter in drafters.values()]
    assert all(not weights[0].equal(other) for other in weights[1:])


def test_trees_are_measured(target, small):
    measured = measure_trees(target, EagleDrafter(target.model, 2, seeded(1)).eval())
    by_name = {entry["tree"]: entry for entry in measured["trees"]}
    assert by_name["fixed, breadth-first"]["accepted_greedy"] <= 2
    dynamic = by_name["dynamic, depth ≤ 5"]["value_mass"]
    assert dynamic >= by_name["fixed, breadth-first"]["value_mass"]
    assert dynamic >= by_name["fixed, tuned, depth ≤ 5"]["value_mass"] - 1e-12
    assert all(1 <= entry["tokens_per_pass"] <= 9 for entry in measured["trees"])
    curves = measured["budget"]
    assert curves["dynamic_value"][-1] == pytest.approx(curves["fixed_value"][-1])
    assert curves["dynamic_value"][7] == pytest.approx(dynamic)
    assert all(
        more >= less - 1e-12
        for more, less in zip(curves["dynamic_value"], curves["fixed_value"], strict=True)
    )
    thirds = measured["certainty_thirds"]
    masses = [third["chain_value_mass"] for third in thirds]
    assert masses == sorted(masses) and len(thirds) == 3


def test_the_expected_number_accepted_is_that_of_the_targets_law(target):
    """The sum over nodes against the mean over every text that the target may sample."""
    drafter, context = (
        EagleDrafter(target.model, 2, seeded(2)).eval(),
        torch.tensor([3, 1, 15]),
    )
    state, root = draft_state_after(drafter, context)
    tree = expand_draft_tree(state, 2, 3, 2)
    cache = KVCache()
    target.model(context[None], cache)
    laws = laws_below_root(target.model, root, tree, cache)
    assert cache.length == 3
    paths = [
        tuple(tree["tokens"][step] for step in tree_path(tree["parents"], node))
        for node in range(len(tree["tokens"]))
    ]
    law = autoregressive_law(model_step(target.model), [*context.tolist(), root], 2)
    accepted = sum(
        probability * sum(text[: len(path)] == path for path in paths)
        for text, probability in law.items()
    )
    assert sum(path_probabilities(tree, laws)) == pytest.approx(accepted, rel=1e-9)


def test_a_target_that_drafts_for_itself_is_calibrated(target, monkeypatch):
    """Confidences that are the target's own laws: no gap if it samples."""
    monkeypatch.setattr(eagle_measures, "CHAIN_CONTEXTS", 50)

    class Perfect(EagleDrafter):
        def draft(self, ids, length, pinned_token=None):
            drafted, texts = super().draft(ids, length), ids
            laws = []
            for _ in range(length):
                laws.append(self.gpt(texts)[:, -1].softmax(dim=-1))
                texts = torch.cat([texts, laws[-1].argmax(dim=-1, keepdim=True)], dim=1)
            laws = torch.stack(laws, dim=1)
            return drafted._replace(tokens=laws.argmax(dim=-1), laws=laws)

    bins = measure_calibration(target, Perfect(target.model, 2, seeded(3)))
    assert sum(entry["count"] for entry in bins) == 50 * 5 * 3
    assert expected_calibration_error(bins, "sampled") < 1e-9
    assert expected_calibration_error(bins, "greedy") > 0.1


def test_records(tmp_path):
    (tmp_path / "runs.json").write_text(
        '{"seeds": {"0": {"a": 1}, "1": {"b": 2}, "2": {"a": 3}}}'
    )
    assert load_seeds("a", "runs", tmp_path) == [1, 3]
    with pytest.raises(ValueError, match="no part 'c'"):
        load_seeds("c", "runs", tmp_path)
    assert mean_and_spread([1.0, 2.0, 3.0]) == (2.0, 1.0)
    assert mean_and_spread([4.0]) == (4.0, 0.0)
    assert with_spread([1.0, 2.0, 3.0]) == "2.00\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}1.00"
