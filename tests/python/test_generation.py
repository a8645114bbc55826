"""Plain decoding: with and without cache alike, ending where it should, equal to Hugging Face's."""

import pytest
import torch
import transformers
from conftest import seeded
from hypothesis import given, settings
from hypothesis import strategies as st

from specdec.distributions import next_token_distribution
from specdec.generation import commit, generate
from specdec.randomness import categorical
from specdec.transformer import GPTModel


def _model(seed: int, vocab_size: int = 9) -> GPTModel:
    return GPTModel(vocab_size, 12, 3, 2, 24, generator=seeded(seed)).double()


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 500),
    prompt=st.lists(st.integers(0, 8), min_size=1, max_size=8),
    wanted=st.integers(1, 16),
    temperature=st.sampled_from([0, 0.7, 1.0, 2.0]),
    stop=st.sets(st.integers(0, 8), max_size=2),
)
def test_with_and_without_cache_alike(seed, prompt, wanted, temperature, stop):
    runs = [
        generate(
            _model(seed), prompt, wanted, temperature, 5, 0.9, stop, use_cache, seeded(seed)
        )
        for use_cache in (True, False)
    ]
    assert runs[0] == runs[1]
    tokens, reason = runs[0]
    assert not set(tokens[:-1]) & stop
    assert reason == ("stop" if tokens[-1] in stop else "length")
    assert len(tokens) == wanted or reason == "stop"


def test_greedy_ignores_the_seed_and_draws_nothing():
    generator = seeded(0)
    tokens = generate(_model(1), [1, 2], 10, temperature=0, generator=generator).tokens
    assert torch.equal(generator.get_state(), seeded(0).get_state())
    assert (
        tokens == generate(_model(1), [1, 2], 10, temperature=0, generator=seeded(9)).tokens
    )


def test_sampling_draws_from_the_warped_law():
    model, generator = _model(2), seeded(3)
    probs = next_token_distribution(model(torch.tensor([[4, 4]]))[0, -1].detach(), 0.5, 3)
    expected = categorical(probs, seeded(3)).item()
    assert generate(model, [4, 4], 1, 0.5, 3, generator=generator).tokens == [expected]


@pytest.mark.parametrize(
    ("block", "stop", "room", "expected"),
    [
        ([10, 11, 12, 20, 21, 22], {12}, 5, ([10, 11, 12], "stop")),
        ([10, 11, 12, 20, 21, 22], {21}, 5, ([10, 11, 12, 20, 21], "stop")),
        ([10, 11, 12, 20, 21, 22], {22}, 5, ([10, 11, 12, 20, 21], "length")),
        ([10, 11, 12], {11, 10}, 5, ([10], "stop")),
        ([10, 11], (), 5, ([10, 11], None)),
        ([10, 11], (), 2, ([10, 11], "length")),
        ([10], (), 1, ([10], "length")),
    ],
)
def test_commit(block, stop, room, expected):
    assert commit(block, stop, room) == expected


def test_the_last_position_can_be_used_and_none_beyond_it():
    assert len(generate(_model(0), [1] * 24, 1, generator=seeded(0)).tokens) == 1
    assert len(generate(_model(0), [1] * 20, 5, generator=seeded(0)).tokens) == 5
    with pytest.raises(
        ValueError,
        match="20 tokens leaves room for 5 new ones in a window of 24, got max_new_tokens = 6",
    ):
        generate(_model(0), [1] * 20, 6)
    with pytest.raises(ValueError, match="25 tokens leaves room for 0 new ones"):
        generate(_model(0), [1] * 25, 1)


@pytest.mark.parametrize(
    ("prompt", "wanted", "message"),
    [([], 1, "prompt must"), ([0], 0, "max_new_tokens must"), ([9], 1, "ids must lie in")],
)
def test_bad_requests_are_refused(prompt, wanted, message):
    with pytest.raises(ValueError, match=message):
        generate(_model(0), prompt, wanted)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_logits_that_are_no_scores_are_refused(bad):
    model = _model(0)
    model.lm_head.weight.data[3, 0] = bad
    with pytest.raises(ValueError, match="finite largest score"):
        generate(model, [1], 5)


def _same_weights_in_hugging_face(model: GPTModel):
    """A GPT-2 of the same architecture (untied head, exact GELU) with the weights of ``model``."""
    config = transformers.GPT2Config(
        vocab_size=model.vocab_size,
        n_positions=model.max_seq_len,
        n_embd=model.token_embedding.embedding_dim,
        n_layer=len(model.blocks),
        n_head=model.blocks[0].attention.num_heads,
        activation_function="gelu",
        tie_word_embeddings=False,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        bos_token_id=None,
        eos_token_id=None,
    )
    theirs = transformers.GPT2LMHeadModel(config).double().eval()
    ours = {
        "transformer.wte": model.token_embedding,
        "transformer.wpe": model.position_embedding,
    }
    ours |= {"transformer.ln_f": model.final_norm, "lm_head": model.lm_head}
    for layer, block in enumerate(model.blocks):
        ours |= {
            f"transformer.h.{layer}.ln_1": block.attention_norm,
            f"transformer.h.{layer}.attn.c_attn": block.attention.query_key_value,
            f"transformer.h.{layer}.attn.c_proj": block.attention.output,
            f"transformer.h.{layer}.ln_2": block.mlp_norm,
            f"transformer.h.{layer}.mlp.c_fc": block.mlp[0],
            f"transformer.h.{layer}.mlp.c_proj": block.mlp[2],
        }
    state = {}
    for name, module in ours.items():
        transposed = name.endswith(
            ("c_attn", "c_proj", "c_fc")
        )  # their Conv1D keeps (in, out)
        state[f"{name}.weight"] = module.weight.T if transposed else module.weight
        if getattr(module, "bias", None) is not None:
            state[f"{name}.bias"] = module.bias
    theirs.load_state_dict(state)
    return theirs


@pytest.fixture(scope="module")
def pairs():
    with (
        torch.random.fork_rng()
    ):  # their models draw initial weights from the global generator
        return [
            (model, _same_weights_in_hugging_face(model))
            for model in map(_model, range(12))
        ]


def test_greedy_decoding_equals_hugging_faces(pairs):
    for seed, (ours, theirs) in enumerate(pairs):
        prompt = torch.randint(9, (1, 1 + seed % 6), generator=seeded(seed))
        assert torch.allclose(ours(prompt), theirs(prompt).logits, atol=1e-12, rtol=0)
        generated = theirs.generate(
            prompt,
            attention_mask=torch.ones_like(prompt),
            max_new_tokens=16,
            do_sample=False,
            pad_token_id=0,
        )
        expected = generated[0, prompt.shape[1] :].tolist()
        assert generate(ours, prompt[0], 16, temperature=0).tokens == expected


@settings(max_examples=300, deadline=None)
@given(
    logits=st.lists(
        st.sampled_from([-1e4, -30.0, -2.0, -0.5, 0.0, 0.25, 1.0, 1.5, 3.0, 700.0]),
        min_size=2,
        max_size=12,
    ),
    noise=st.floats(0, 2),
    temperature=st.sampled_from([0.05, 0.5, 1.0, 1.7, 20.0]),
    top_k=st.none() | st.integers(1, 14),
    top_p=st.none() | st.sampled_from([0.01, 0.3, 0.5, 0.9, 0.999, 1.0]),
    seed=st.integers(0, 99),
)
def test_warping_equals_hugging_faces(logits, noise, temperature, top_k, top_p, seed):
    scores = torch.tensor(logits, dtype=torch.float64)
    scores += noise * torch.randn(
        len(logits), generator=seeded(seed), dtype=torch.float64
    ).round(decimals=1)
    warped = transformers.TemperatureLogitsWarper(temperature)(None, scores[None])
    if top_k is not None:
        warped = transformers.TopKLogitsWarper(top_k)(None, warped)
    if top_p is not None and top_p < 1.0:
        warped = transformers.TopPLogitsWarper(top_p)(None, warped)
    expected = torch.softmax(warped[0], dim=-1)
    assert torch.allclose(
        next_token_distribution(scores, temperature, top_k, top_p),
        expected,
        atol=1e-12,
        rtol=0,
    )
