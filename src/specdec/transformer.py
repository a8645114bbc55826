"""A small GPT: token and position embeddings, pre-norm blocks, a final norm and a language-model head.

Sizes are written B (batch), T (time), D (embed_dim), H (heads), V (vocabulary).
"""

import math

import torch
from torch import Tensor, nn

from specdec.checks import check_at_least


class KVCache:
    """Keys and values of the tokens that a model has seen, so that it need not see them again.

    One cache belongs to one model and one batch of sequences. Entries stand in the order in which the
    tokens were fed; after a tree pass that is the order of the tree's nodes.
    """

    def __init__(self) -> None:
        self._layers: list[
            tuple[Tensor, Tensor]
        ] = []  # per layer, two of (B, H, length, D / H)

    @property
    def length(self) -> int:
        """How many tokens it holds."""
        return self._layers[0][0].shape[2] if self._layers else 0

    @property
    def nbytes(self) -> int:
        """How much memory its entries take, in bytes."""
        return sum(entries.nbytes for layer in self._layers for entries in layer)

    def append(self, layer: int, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Add entries (B, H, T, D / H) of new tokens to a layer; return all it holds."""
        if layer == len(self._layers):
            self._layers.append((key, value))
        else:
            past_key, past_value = self._layers[layer]
            self._layers[layer] = (
                torch.cat([past_key, key], 2),
                torch.cat([past_value, value], 2),
            )
        return self._layers[layer]

    def truncate(self, length: int) -> None:
        """Roll back to the first ``length`` entries.

        Raises:
            ValueError: it holds fewer, or ``length`` is negative.
        """
        if check_at_least(length, 0, "length") > self.length:
            raise ValueError(
                f"length must be at most {self.length}, what the cache holds; got {length}"
            )
        self._layers = [
            (key[:, :, :length], value[:, :, :length]) for key, value in self._layers
        ]

    def gather(self, indices: list[int]) -> None:
        """Keep the entries at ``indices``, in that order: say, a context and one path.

        Raises:
            ValueError: an index is outside the cache or stands twice.
        """
        outside = [index for index in indices if not 0 <= index < self.length]
        if outside or len(set(indices)) < len(indices):
            raise ValueError(
                f"indices must be different ones in 0..{self.length - 1}, got {indices}"
            )
        picked = torch.tensor(indices, dtype=torch.long)
        self._layers = [
            tuple(entries.index_select(2, picked.to(entries.device)) for entries in layer)
            for layer in self._layers
        ]

    def reorder(self, rows: list[int]) -> None:
        """Keep these rows of the batch, in that order; a row may stand more than once.

        An empty cache stays empty.

        Raises:
            ValueError: a row that the batch doesn't have.
        """
        if not self._layers:
            return
        batch = self._layers[0][0].shape[0]
        if any(not 0 <= row < batch for row in rows):
            raise ValueError(f"rows must lie in 0..{batch - 1}, got {rows}")
        picked = torch.tensor(rows, dtype=torch.long)
        self._layers = [
            tuple(entries.index_select(0, picked.to(entries.device)) for entries in layer)
            for layer in self._layers
        ]


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
        with torch.random.fork_rng(devices=[]):  # torch's own draws are replaced at once
            self.token_embedding = nn.Embedding(vocab_size, embed_dim)
            self.position_embedding = nn.Embedding(max_seq_len, embed_dim)
            self.blocks = nn.ModuleList(
                Block(embed_dim, num_heads) for _ in range(num_layers)
            )
            self.final_norm = nn.LayerNorm(embed_dim)
            self.lm_head = nn.Linear(embed_dim, vocab_size, bias=False)
        initialise_portably(self, generator)

    def features(
        self,
        ids: Tensor,
        cache: KVCache | None = None,
        mask: Tensor | None = None,
        positions: Tensor | None = None,
    ) -> Tensor:
        """Map token ids (B, T) to features (B, T, D).

        Args:
            ids: tokens that the model has not seen yet.
            cache: holds the P tokens seen before and takes in the new ones; None is an empty past.
            mask: (T, P + T) bool, true where a new token may look; None lets each look at the past, at
                itself and at the new ones before it. For a tree: the past, its ancestors, itself.
            positions: (T,) position of each new token; None counts on from the past. In a tree they go
                by depth, so that siblings share one.

        Raises:
            ValueError: no token, a token outside the vocabulary, a position that the model does not
                have, or a mask of another shape or with a row that sees nothing.
        """
        past = cache.length if cache is not None else 0
        self._check_ids(ids)
        time = ids.shape[1]
        if positions is None:
            positions = torch.arange(past, past + time, device=ids.device)
        if mask is None:
            mask = causal_mask(time, past).to(ids.device)
        self._check_positions(positions, time)
        _check_mask(mask, time, past)
        hidden = self.token_embedding(ids) + self.position_embedding(positions)  # (B, T, D)
        for layer, block in enumerate(self.blocks):
            hidden = block(hidden, mask, cache, layer)
        return self.final_norm(hidden)

    def forward(
        self,
        ids: Tensor,
        cache: KVCache | None = None,
        mask: Tensor | None = None,
        positions: Tensor | None = None,
    ) -> Tensor:
        """Map token ids (B, T) to next-token logits (B, T, V); see :meth:`features`."""
        return self.lm_head(self.features(ids, cache, mask, positions))

    def _check_ids(self, ids: Tensor) -> None:
        if ids.dim() != 2 or ids.numel() == 0:
            raise ValueError(
                f"ids must have shape (B, T) and hold at least one token, got shape {tuple(ids.shape)}"
            )
        if not (0 <= int(ids.min()) and int(ids.max()) < self.vocab_size):
            raise ValueError(
                f"ids must lie in 0..{self.vocab_size - 1}, got {ids.min()}..{ids.max()}"
            )

    def _check_positions(self, positions: Tensor, time: int) -> None:
        if positions.shape != (time,):
            raise ValueError(
                f"positions must have shape ({time},), one for each new token, got {tuple(positions.shape)}"
            )
        if not (0 <= int(positions.min()) and int(positions.max()) < self.max_seq_len):
            raise ValueError(
                f"the model has positions 0..{self.max_seq_len - 1}, the tokens reach from"
                f" {positions.min()} to {positions.max()}: shorten the text"
            )


def causal_mask(time: int, past: int = 0) -> Tensor:
    """(T, P + T) bool: each of T new tokens sees the P past ones, itself and the new ones before it."""
    return torch.ones(time, past + time, dtype=torch.bool).tril(diagonal=past)


def _check_mask(mask: Tensor, time: int, past: int) -> None:
    if mask.dtype != torch.bool or mask.shape != (time, past + time):
        raise ValueError(
            f"mask must be bool of shape ({time}, {past + time}), new tokens by all tokens,"
            f" got {mask.dtype} of shape {tuple(mask.shape)}"
        )
    if not bool(mask.any(dim=1).all()):
        raise ValueError(
            "mask must let each new token see at least one token, itself for example"
        )


class Block(nn.Module):
    """One pre-norm block: attention, then a two-layer perceptron, each added to the residual stream."""

    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(embed_dim)
        self.attention = SelfAttention(embed_dim, num_heads)
        self.mlp_norm = nn.LayerNorm(embed_dim)
        self.mlp = nn.Sequential(
            nn.Linear(embed_dim, 4 * embed_dim),
            nn.GELU(),
            nn.Linear(4 * embed_dim, embed_dim),
        )

    def forward(
        self, hidden: Tensor, mask: Tensor, cache: KVCache | None = None, layer: int = 0
    ) -> Tensor:
        hidden = hidden + self.attention(self.attention_norm(hidden), mask, cache, layer)
        return hidden + self.mlp(self.mlp_norm(hidden))  # (B, T, D)


class SelfAttention(nn.Module):
    """Multi-head attention in which each new token sees what the mask lets it see.

    Source: Vaswani et al. 2017, section 3.2.
    """

    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.query_key_value = nn.Linear(embed_dim, 3 * embed_dim)
        self.output = nn.Linear(embed_dim, embed_dim)

    def forward(
        self, hidden: Tensor, mask: Tensor, cache: KVCache | None = None, layer: int = 0
    ) -> Tensor:
        batch, time, dim = hidden.shape
        per_head = (batch, time, 3, self.num_heads, dim // self.num_heads)
        query, key, value = (
            self.query_key_value(hidden).view(per_head).permute(2, 0, 3, 1, 4)
        )
        if cache is not None:
            key, value = cache.append(layer, key, value)  # (B, H, P + T, D / H)
        scores = (
            query @ key.transpose(-2, -1) / math.sqrt(key.shape[-1])
        )  # (B, H, T, P + T)
        attention = torch.softmax(scores.masked_fill(~mask, float("-inf")), dim=-1)
        mixed = (
            (attention @ value).transpose(1, 2).reshape(batch, time, dim)
        )  # heads side by side
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
