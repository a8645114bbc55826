"""The GPT: causal, of the promised shapes, with the same weights on every CPU; and models as step functions."""

import math

import pytest
import torch
from conftest import seeded
from torch import nn

from specdec.enumeration import autoregressive_law, law_distance, output_law
from specdec.generation import autoregressive_decode, evaluating, model_step
from specdec.speculative import score_block, speculative_decode
from specdec.transformer import GPTModel, causal_mask, portable_normal


def _model(seed: int = 0, vocab_size: int = 11, max_seq_len: int = 12) -> GPTModel:
    return GPTModel(vocab_size, 12, 3, 2, max_seq_len, generator=seeded(seed)).double()


IDS = torch.tensor([[1, 5, 9, 2, 0], [3, 3, 10, 1, 7]])


def test_shapes_and_the_feature_is_the_heads_input():
    model = _model()
    assert model(IDS).shape == (2, 5, 11)
    assert model.features(IDS).shape == (2, 5, 12)
    assert torch.equal(model.lm_head(model.features(IDS)), model(IDS))


def test_a_later_token_changes_nothing_before_it():
    model = _model()
    changed = IDS.clone()
    changed[:, 3] = 8
    before, after = model(IDS), model(changed)
    assert torch.equal(before[:, :3], after[:, :3])
    assert not torch.allclose(before[:, 3:], after[:, 3:])


def test_positions_matter():
    model = _model()
    assert not torch.allclose(
        model(torch.tensor([[4, 4]]))[0, 0], model(torch.tensor([[4, 4]]))[0, 1]
    )


def test_one_pass_gives_the_rows_that_one_call_per_prefix_gives():
    model = _model()
    context, drafted = torch.tensor([1, 5, 9]), torch.tensor([2, 0, 7, 7])
    with torch.no_grad():
        one_pass = torch.softmax(model(torch.cat([context, drafted])[None])[0, 2:], dim=-1)
    assert torch.allclose(
        one_pass, score_block(context, drafted, model_step(model)), atol=1e-12, rtol=0
    )


def test_attention_is_torchs_own():
    """Against an independent implementation, on one block."""
    attention = _model().blocks[0].attention
    hidden = torch.randn(2, 5, 12, generator=seeded(1), dtype=torch.float64)
    query, key, value = (
        part.view(2, 5, 3, 4).transpose(1, 2)
        for part in attention.query_key_value(hidden).split(12, dim=-1)
    )
    mixed = nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
    assert torch.allclose(
        attention(hidden, causal_mask(5)),
        attention.output(mixed.transpose(1, 2).reshape(2, 5, 12)),
        atol=1e-12,
    )


def test_weights_follow_torchs_default_laws():
    model = GPTModel(500, 64, 4, 1, 500, generator=seeded(0))
    embedding = torch.cat([model.token_embedding.weight, model.position_embedding.weight])
    assert embedding.mean().item() == pytest.approx(0, abs=0.02)
    assert embedding.std().item() == pytest.approx(1, abs=0.02)
    assert (embedding.abs() < 1).double().mean().item() == pytest.approx(0.6827, abs=0.01)
    for linear in (module for module in model.modules() if isinstance(module, nn.Linear)):
        bound = 1 / math.sqrt(linear.in_features)
        assert 0.97 * bound < linear.weight.abs().max().item() <= bound
        assert linear.weight.mean().item() == pytest.approx(0, abs=0.05 * bound)


def test_weights_depend_on_the_generator_alone():
    same, other = _model(3), _model(4)
    assert torch.equal(_model(3)(IDS), same(IDS))
    assert not torch.equal(same(IDS), other(IDS))
    assert portable_normal((3, 4), seeded(0)).dtype == torch.float64


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ((0, 8, 2, 1, 4), "vocab_size must be an integer of at least 1, got 0"),
        ((5, 8, 3, 1, 4), "embed_dim must be a multiple of num_heads, got 8 and 3"),
        ((5, 8, 2, 0, 4), "num_layers"),
        ((5, 8, 2, 1, -1), "max_seq_len"),
    ],
)
def test_sizes_are_checked(sizes, message):
    with pytest.raises(ValueError, match=message):
        GPTModel(*sizes, generator=seeded(0))


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (
            torch.zeros(1, 13, dtype=torch.long),
            r"positions 0\.\.11, the tokens reach from 0 to 12",
        ),
        (torch.zeros(1, 0, dtype=torch.long), "at least one token"),
        (torch.tensor([1, 2]), r"shape \(B, T\)"),
        (torch.tensor([[11]]), r"ids must lie in 0\.\.10, got 11"),
        (torch.tensor([[-1]]), r"ids must lie in 0\.\.10, got -1"),
    ],
)
def test_ids_are_checked(ids, message):
    with pytest.raises(ValueError, match=message):
        _model()(ids)


class _Dropping(nn.Module):
    """A model whose train mode differs from its eval mode."""

    def __init__(self):
        super().__init__()
        self.model, self.dropout = _model(), nn.Dropout(0.5)

    def forward(self, ids):
        return self.dropout(self.model(ids))


def test_a_model_in_train_mode_decodes_as_in_eval_mode_and_keeps_its_modes():
    model = _Dropping()
    model.model.eval()  # one part in its own mode
    trained = speculative_decode(
        [1, 5], model_step(model), model_step(model), 2, 6, seeded(0)
    )[0]
    assert (model.training, model.dropout.training, model.model.training) == (
        True,
        True,
        False,
    )
    model.eval()
    assert (
        speculative_decode([1, 5], model_step(model), model_step(model), 2, 6, seeded(0))[0]
        == trained
    )


def test_modes_come_back_after_an_error():
    model = _Dropping()
    with pytest.raises(ValueError), evaluating(model):
        model(torch.zeros(1, 0, dtype=torch.long))
    assert model.training and model.dropout.training


def test_greedy_ignores_the_seed_and_the_draft():
    model, draft = model_step(_model(0), temperature=0), model_step(_model(1))
    greedy = autoregressive_decode([1, 5], model, 8, seeded(0))
    for seed in range(5):
        assert speculative_decode([1, 5], model, draft, 2, 8, seeded(seed))[0] == greedy


def test_two_gpts_decode_with_the_targets_law():
    sizes = {"vocab_size": 3, "max_seq_len": 8}
    target, draft = (
        model_step(_model(0, **sizes)),
        model_step(_model(1, **sizes), temperature=0.7, top_k=2),
    )
    law = output_law(
        lambda walker: speculative_decode([0, 2], target, draft, 2, 2, walker)[0]
    )
    assert law_distance(law, autoregressive_law(target, [0, 2], 2)) < 1e-9


def test_a_prompt_longer_than_the_window_is_refused():
    with pytest.raises(
        ValueError, match=r"positions 0\.\.11, the tokens reach from 0 to 12"
    ):
        autoregressive_decode([0] * 13, model_step(_model()), 1, seeded(0))


@pytest.mark.parametrize(("prompt", "wanted"), [([], 1), ([0], 0)])
def test_autoregressive_decode_refuses(prompt, wanted):
    with pytest.raises(ValueError, match="prompt must|max_new_tokens must"):
        autoregressive_decode(prompt, model_step(_model()), wanted, seeded(0))
