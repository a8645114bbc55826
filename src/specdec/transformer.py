"""A small GPT: token and position embeddings, pre-norm blocks, a final norm and a language-model head.

Sizes are written B (batch), T (time), D (embed_dim), H (heads), V (vocabulary).
"""

import math

import torch
from torch import Tensor, nn

from specdec.checks import check_at_least


class GPTModel(nn.Module):
    """A decoder-only transformer with learned positions and pre-norm blocks.

    The *feature* of a position is the head's input: the last hidden state after the final norm.

    Source: Radford et al. 2019 (GPT-2), at toy size and without dropout.

    Args:
        vocab_size: V, at least 1.
        embed_dim: D, a multiple of ``num_heads``.
        num_heads: H, at least 1.
        num_layers: at least 1.
        max_seq_len: longest sequence that has positions.
        generator: draws the initial weights; None is torch's global generator.

    Raises:
        ValueError: a size below its least value, or ``embed_dim`` not divisible by ``num_heads``.
    """

    def __init__(
        self,
        vocab_size: int,
        embed_dim: int,
        num_heads: int,
        num_layers: int,
        max_seq_len: int,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        sizes = {"vocab_size": vocab_size, "embed_dim": embed_dim, "num_heads": num_heads}
        sizes |= {"num_layers": num_layers, "max_seq_len": max_seq_len}
        for name, size in sizes.items():
            check_at_least(size, 1, name)
        if embed_dim % num_heads:
            raise ValueError(
                f"embed_dim must be a multiple of num_heads, got {embed_dim} and {num_heads}"
            )
        self.vocab_size = vocab_size
        self.max_seq_len = max_seq_len
        with torch.random.fork_rng(
            devices=[]
        ):  # torch's own initial draws are replaced at once
            self.token_embedding = nn.Embedding(vocab_size, embed_dim)
            self.position_embedding = nn.Embedding(max_seq_len, embed_dim)
            self.blocks = nn.ModuleList(
                Block(embed_dim, num_heads) for _ in range(num_layers)
            )
            self.final_norm = nn.LayerNorm(embed_dim)
            self.lm_head = nn.Linear(embed_dim, vocab_size, bias=False)
        initialise_portably(self, generator)

    def features(self, ids: Tensor) -> Tensor:
        """Map token ids (B, T) to features (B, T, D).

        Raises:
            ValueError: no token, more tokens than positions, or a token outside the vocabulary.
        """
        self._check_ids(ids)
        positions = torch.arange(ids.shape[1], device=ids.device)  # (T,)
        hidden = self.token_embedding(ids) + self.position_embedding(positions)  # (B, T, D)
        for block in self.blocks:
            hidden = block(hidden)
        return self.final_norm(hidden)

    def forward(self, ids: Tensor) -> Tensor:
        """Map token ids (B, T) to next-token logits (B, T, V)."""
        return self.lm_head(self.features(ids))

    def _check_ids(self, ids: Tensor) -> None:
        if ids.dim() != 2 or not 1 <= ids.shape[1] <= self.max_seq_len:
            raise ValueError(
                f"ids must have shape (B, T) with T in 1..{self.max_seq_len}, got shape {tuple(ids.shape)}"
            )
        if ids.numel() and not (0 <= int(ids.min()) and int(ids.max()) < self.vocab_size):
            raise ValueError(
                f"ids must lie in 0..{self.vocab_size - 1}, got {ids.min()}..{ids.max()}"
            )


class Block(nn.Module):
    """One pre-norm block: attention, then a two-layer perceptron, each added to the residual stream."""

    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(embed_dim)
        self.attention = CausalSelfAttention(embed_dim, num_heads)
        self.mlp_norm = nn.LayerNorm(embed_dim)
        self.mlp = nn.Sequential(
            nn.Linear(embed_dim, 4 * embed_dim),
            nn.GELU(),
            nn.Linear(4 * embed_dim, embed_dim),
        )

    def forward(self, hidden: Tensor) -> Tensor:
        hidden = hidden + self.attention(self.attention_norm(hidden))
        return hidden + self.mlp(self.mlp_norm(hidden))  # (B, T, D)


class CausalSelfAttention(nn.Module):
    """Multi-head attention in which each position sees itself and what came before.

    Source: Vaswani et al. 2017, section 3.2.
    """

    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.query_key_value = nn.Linear(embed_dim, 3 * embed_dim)
        self.output = nn.Linear(embed_dim, embed_dim)

    def forward(self, hidden: Tensor) -> Tensor:
        batch, time, dim = hidden.shape
        per_head = self.query_key_value(hidden).view(
            batch, time, 3, self.num_heads, dim // self.num_heads
        )
        query, key, value = per_head.permute(2, 0, 3, 1, 4)  # each (B, H, T, D / H)
        scores = (
            query @ key.transpose(-2, -1) / math.sqrt(dim // self.num_heads)
        )  # (B, H, T, T)
        visible = torch.ones(time, time, dtype=torch.bool, device=hidden.device).tril()
        attention = torch.softmax(scores.masked_fill(~visible, float("-inf")), dim=-1)
        mixed = (
            (attention @ value).transpose(1, 2).reshape(batch, time, dim)
        )  # heads side by side again
        return self.output(mixed)


@torch.no_grad()
def initialise_portably(model: nn.Module, generator: torch.Generator | None = None) -> None:
    """Draw the weights of ``model`` from torch's default laws, with the same values on every CPU.

    torch's own normal draws of 16 and more entries differ between instruction sets, its uniform ones do not. So
    every weight is made from uniforms: linear layers uniform in ±1/√fan_in, embeddings standard normal.
    """
    for module in model.modules():
        if isinstance(module, nn.Linear):
            bound = 1 / math.sqrt(module.in_features)
            for parameter in module.parameters(recurse=False):
                parameter.copy_(bound * (2 * _uniform(parameter.shape, generator) - 1))
        elif isinstance(module, nn.Embedding):
            module.weight.copy_(portable_normal(module.weight.shape, generator))


def portable_normal(
    shape: torch.Size | tuple[int, ...], generator: torch.Generator | None = None
) -> Tensor:
    """Standard normal draws in float64, by the Box–Muller transform of uniforms."""
    radius = torch.sqrt(-2 * torch.log(1 - _uniform(shape, generator)))  # 1 − u is never 0
    return radius * torch.cos(2 * math.pi * _uniform(shape, generator))


def _uniform(
    shape: torch.Size | tuple[int, ...], generator: torch.Generator | None
) -> Tensor:
    return torch.rand(shape, generator=generator, dtype=torch.float64)
