"""When extra positions are free: a model of a forward pass by the bytes it moves and the operations it does.

A pass must read every weight and every cached key and value once, and do about two operations per weight and position.
An accelerator can do both at the same time; whichever takes longer sets the pace. Measured times are longer: the model
leaves out kernel launches, imperfect overlap and communication.

Source: Williams et al. 2009 (the roofline model).
"""

from dataclasses import dataclass
from math import floor

from specdec.checks import check_at_least


@dataclass(frozen=True)
class Accelerator:
    """What a data sheet promises."""

    name: str
    flops_per_second: float  # dense 16-bit matrix arithmetic
    bytes_per_second: float  # memory bandwidth
    source: str  # citation key

    @property
    def ridge(self) -> float:
        """Operations per byte from which on arithmetic, not memory, sets the pace."""
        return self.flops_per_second / self.bytes_per_second


@dataclass(frozen=True)
class DecoderShape:
    """The sizes of a decoder-only model with gated perceptrons and grouped-query attention."""

    name: str
    embed_dim: int
    num_layers: int
    num_heads: int
    num_kv_heads: int
    mlp_dim: int
    vocab_size: int
    bytes_per_number: int
    source: str  # citation key

    @property
    def weights_read(self) -> int:
        """Weights that a pass reads: all blocks and the head. Of the embedding it reads a few rows only."""
        head_dim = self.embed_dim // self.num_heads
        attention = (
            2 * self.embed_dim**2 + 2 * self.embed_dim * self.num_kv_heads * head_dim
        )
        perceptron = 3 * self.embed_dim * self.mlp_dim
        return self.num_layers * (attention + perceptron) + self.embed_dim * self.vocab_size

    @property
    def cache_bytes_per_token(self) -> int:
        """A key and a value per layer and key-value head."""
        head_dim = self.embed_dim // self.num_heads
        return 2 * self.num_layers * self.num_kv_heads * head_dim * self.bytes_per_number


ACCELERATORS = [
    Accelerator("NVIDIA L4", 121e12, 300e9, "nvidia-l4"),
    Accelerator("NVIDIA A100 80GB SXM", 312e12, 2.039e12, "nvidia-a100"),
    Accelerator("NVIDIA H100 SXM", 989e12, 3.35e12, "nvidia-h100"),
    Accelerator("NVIDIA H200 SXM", 989e12, 4.8e12, "nvidia-h200"),
]

SHAPES = [
    DecoderShape("Llama 3.1 8B", 4096, 32, 32, 8, 14336, 128256, 2, "llama3"),
    DecoderShape("Llama 3.1 70B", 8192, 80, 64, 8, 28672, 128256, 2, "llama3"),
]


def pass_flops(shape: DecoderShape, batch: int, positions: int, context: int) -> float:
    """Operations of a pass over ``positions`` new tokens in each of ``batch`` texts.

    Each text has ``context`` tokens before them. Two operations (a product and a sum) per weight and position, and
    four per number of a query, cached token and layer for the agreements and the weighted means of attention.

    Raises:
        ValueError: ``batch`` or ``positions`` below 1, or a negative ``context``.
    """
    _check_pass(batch, positions, context)
    attention = 4 * shape.num_layers * shape.embed_dim * context
    return float(batch * positions * (2 * shape.weights_read + attention))


def pass_bytes(shape: DecoderShape, batch: int, context: int) -> float:
    """Bytes that one pass must read: the weights once, the cache of each text once.

    How many positions it covers makes no difference; that is the point.

    Raises:
        ValueError: ``batch`` below 1, or a negative ``context``.
    """
    _check_pass(batch, 1, context)
    weights = shape.weights_read * shape.bytes_per_number
    return float(weights + batch * context * shape.cache_bytes_per_token)


def arithmetic_intensity(
    shape: DecoderShape, batch: int, positions: int, context: int
) -> float:
    """Operations per byte of one pass, to be held against :attr:`Accelerator.ridge`."""
    return pass_flops(shape, batch, positions, context) / pass_bytes(shape, batch, context)


def pass_seconds(
    accelerator: Accelerator, shape: DecoderShape, batch: int, positions: int, context: int
) -> float:
    """The least time of a pass: that of its reading or of its arithmetic, whichever is longer."""
    reading = pass_bytes(shape, batch, context) / accelerator.bytes_per_second
    computing = pass_flops(shape, batch, positions, context) / accelerator.flops_per_second
    return max(reading, computing)


def free_positions(
    accelerator: Accelerator, shape: DecoderShape, batch: int, context: int
) -> int:
    """How many positions of each text a pass can cover in the time of its reading; 0 where not even one."""
    reading = pass_bytes(shape, batch, context) / accelerator.bytes_per_second
    per_position = pass_flops(shape, batch, 1, context) / accelerator.flops_per_second
    return floor(reading / per_position)


def _check_pass(batch: int, positions: int, context: int) -> None:
    check_at_least(batch, 1, "batch")
    check_at_least(positions, 1, "positions")
    check_at_least(context, 0, "context")
