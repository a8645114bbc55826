"""Lookahead decoding: no draft model, the target refines its own guesses and reuses what it has said before.

Greedy decoding is a system of equations, y_i = oracle(prompt, y_1 … y_{i−1}), in which each unknown needs only those
before it. Jacobi iteration guesses all unknowns of a block and refines them together, one pass of the model a time;
lookahead decoding adds a pool of n-grams from which a block's guess can come. Both emit greedy's tokens.

Sources: Santilli et al. 2023, *Accelerating Transformer Inference for Translation via Parallel Decoding*; Fu et al.
2024, *Break the Sequential Dependency of LLM Inference Using Lookahead Decoding*.
"""

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, TypedDict

import torch

from specdec.checks import check_at_least, check_prompt
from specdec.generation import evaluating
from specdec.randomness import Chance, categorical
from specdec.training import draw_windows, next_token_loss, train
from specdec.transformer import GPTModel, KVCache
from specdec.tree import tree_pass_inputs

Oracle = Callable[[list[int]], int]
"""Maps all tokens so far to the greedy next token."""


def greedy_decode(oracle: Oracle, prompt: Sequence[int], n: int) -> tuple[list[int], int]:
    """Decode greedily, one token a pass: what the other decoders must equal.

    Args:
        oracle: maps a list of tokens to its greedy next token.
        prompt: at least one token.
        n: new tokens, at least 1.

    Returns:
        (tokens, passes): the n new tokens; passes is n.

    Raises:
        ValueError: an empty prompt, or ``n`` below 1.
    """
    check_at_least(n, 1, "n")
    prompt = check_prompt(prompt).tolist()
    tokens = list(prompt)
    for _ in range(n):
        tokens.append(oracle(tokens))
    return tokens[len(prompt) :], n


def jacobi_step(oracle: Oracle, verified: list[int], guess: list[int]) -> list[int]:
    """Refine a block: each place gets what would follow were the guesses before it right.

    a_k = oracle(verified + g_1 … g_{k−1}). A model answers all of them in one forward pass (:class:`ModelOracle`);
    any other oracle is asked position by position, and the answers count as one pass.

    Source: Santilli et al. 2023, section 3.

    Args:
        oracle: maps a list of tokens to its greedy next token.
        verified: the tokens that are known to be right, prompt included; at least one.
        guess: what may come next; its last token is the only one that nothing is conditioned on.

    Returns:
        As many tokens as ``guess`` has. The first is right whatever the guess.
    """
    if isinstance(oracle, ModelOracle):
        return oracle.refine(verified, guess)
    return [oracle(verified + guess[:k]) for k in range(len(guess))]


def accepted_prefix_length(guess: list[int], refined: list[int]) -> int:
    """How many refined tokens are certain: one, and one per leading guess that was right.

    Args:
        guess, refined: of one length, at least 1.

    Returns:
        1 + the number of leading places where the two agree, at most the length of the block.

    Raises:
        ValueError: no token, or two lengths.
    """
    if not guess or len(guess) != len(refined):
        raise ValueError(
            "guess and refined must have one length of at least 1,"
            f" got {len(guess)} and {len(refined)} tokens"
        )
    agreeing = 0
    while agreeing < len(guess) and guess[agreeing] == refined[agreeing]:
        agreeing += 1
    return min(1 + agreeing, len(guess))


class ModelOracle:
    """A model's greedy choice as an oracle, which refines a whole block in one forward pass.

    Args:
        model: a :class:`specdec.transformer.GPTModel`; it computes in eval mode and without gradients.
    """

    def __init__(self, model: GPTModel) -> None:
        self.model = model

    def __call__(self, tokens: list[int]) -> int:
        return self.refine(tokens, tokens[-1:])[0]

    def refine(self, verified: list[int], guess: list[int]) -> list[int]:
        """As if asked position by position: causal attention hides the later guesses."""
        # nothing is conditioned on the last guess, so it isn't fed
        ids = torch.tensor([verified + guess[:-1]])  # (1, T)
        with evaluating(self.model), torch.no_grad():
            logits = self.model(ids)[0, len(verified) - 1 :]  # (block, V)
        return logits.argmax(dim=-1).tolist()


def model_oracle(model: GPTModel) -> ModelOracle:
    """Adapt a model to an oracle; see :class:`ModelOracle`."""
    return ModelOracle(model)


class DecodingPass(TypedDict):
    """One pass: a block of guesses, what the model made of it, and how much of that is certain."""

    n_verified: int  # tokens known before the pass, prompt included
    # where the guess came from
    source: Literal["first guess", "carried", "pool", "text", "none"]
    guess: list[int]  # (block,) the last blocks are cut to what is still wanted
    refined: list[int]  # (block,)
    n_accepted: int  # 1 .. block
    emitted: list[int]  # (n_accepted,) the certain ones, the beginning of ``refined``
    carried: list[int]  # (block − n_accepted,) the rest, a guess for the next pass
    positions: int  # what a pass with a cache computes on: block; the prompt isn't counted


class PoolEntry(TypedDict):
    """What followed a token somewhere in the text."""

    key: int
    continuation: list[int]
    position: int  # of the key in the text, prompt included


class LookaheadPass(DecodingPass):
    """A pass and what the pool did before it."""

    added: list[PoolEntry]  # entries that the newly verified text allowed
    key: int  # the token that was looked up: the last verified one
    hit: list[int] | None  # the continuation that was found
    pool_size: int  # keys in the pool at the look-up


class Proposal(NamedTuple):
    """A guess for the next block, and where it came from."""

    guess: list[int]
    source: Literal["first guess", "carried", "pool", "text", "none"]


Propose = Callable[[list[int], list[int] | None], Proposal]
"""Maps the verified tokens and those carried over from the last pass (None: there is none) to a guess."""


def decode_blocks(
    oracle: Oracle, prompt: Sequence[int], n: int, propose: Propose
) -> tuple[list[int], int, list[DecodingPass]]:
    """Propose a block, refine it, keep what is certain; until n tokens are there.

    What is proposed decides the number of passes and nothing else: the tokens are greedy's.

    Args:
        oracle: maps a list of tokens to its greedy next token.
        prompt: at least one token.
        n: new tokens, at least 1.
        propose: makes the guess of each pass, at least one token.

    Returns:
        (tokens, passes, trace): the n new tokens; one record a pass.

    Raises:
        ValueError: an empty prompt, or ``n`` below 1.
    """
    check_at_least(n, 1, "n")
    verified = check_prompt(prompt).tolist()
    wanted = len(verified) + n
    carried: list[int] | None = None
    trace: list[DecodingPass] = []
    while len(verified) < wanted:
        guess, source = propose(verified, carried)
        # nothing is computed beyond the last wanted token
        guess = guess[: wanted - len(verified)]
        refined = jacobi_step(oracle, verified, guess)
        n_accepted = accepted_prefix_length(guess, refined)
        emitted, carried = refined[:n_accepted], refined[n_accepted:]
        trace.append(
            DecodingPass(
                n_verified=len(verified),
                source=source,
                guess=guess,
                refined=refined,
                n_accepted=n_accepted,
                emitted=emitted,
                carried=carried,
                positions=len(guess),
            )
        )
        verified = verified + emitted
    return verified[-n:], len(trace), trace


def carry_over(block_size: int) -> Propose:
    """Guess what the last pass left over; at the start, the last prompt token repeated."""

    def propose(verified: list[int], carried: list[int] | None) -> Proposal:
        source = "first guess" if carried is None else "carried"
        return Proposal(_filled(carried or verified[-1:], block_size), source)

    return propose


def _filled(tokens: list[int], length: int) -> list[int]:
    """``tokens`` cut to ``length``, or filled up to it with its last one."""
    return (tokens + tokens[-1:] * length)[:length]


def jacobi_decode(
    oracle: Oracle, prompt: Sequence[int], n: int, block_size: int = 5
) -> tuple[list[int], int, list[DecodingPass]]:
    """Decode by Jacobi iteration: refine a block, keep what is certain, carry the rest over.

    Equal to greedy decoding, and never more passes than it: each pass makes at least one token certain.

    Source: Santilli et al. 2023, Algorithm 2, with a block that slides on.

    Args:
        oracle: maps a list of tokens to its greedy next token.
        prompt: at least one token.
        n: new tokens, at least 1.
        block_size: positions refined in a pass, at least 1 (1 is greedy decoding).

    Returns:
        (tokens, passes, trace): the n new tokens; one record a pass.

    Raises:
        ValueError: an empty prompt, or a number below its least value.
    """
    check_at_least(block_size, 1, "block_size")
    return decode_blocks(oracle, prompt, n, carry_over(block_size))


def lookahead_decode(
    oracle: Oracle, prompt: Sequence[int], n: int, block_size: int = 5, ngram_n: int = 3
) -> tuple[list[int], int, list[LookaheadPass]]:
    """Jacobi iteration with a pool of n-grams, which supplies guesses where text repeats.

    Before each pass the last verified token is looked up; what followed it the last time replaces the carried guess.
    Equal to greedy decoding, and never more passes than it.

    Source: after Fu et al. 2024, whose pool is fed by a second branch; see :func:`window_lookahead_decode`.

    Args:
        oracle: maps a list of tokens to its greedy next token.
        prompt: at least one token.
        n: new tokens, at least 1.
        block_size: positions refined in a pass, at least 1 (1 is greedy decoding).
        ngram_n: how many tokens the pool remembers after its key, at least 1. With the key that is what the field
            calls an (N + 1)-gram.

    Returns:
        (tokens, passes, trace): the n new tokens; one record a pass.

    Raises:
        ValueError: an empty prompt, or a number below its least value.
    """
    check_at_least(block_size, 1, "block_size")
    pool, pool_states = NgramPool(ngram_n), []
    without_hit = carry_over(block_size)

    def propose(verified: list[int], carried: list[int] | None) -> Proposal:
        added = pool.extend(verified)
        key, hit = verified[-1], pool.look_up(verified[-1])
        pool_states.append({"added": added, "key": key, "hit": hit, "pool_size": len(pool)})
        if hit is None:
            return without_hit(verified, carried)
        return Proposal(_filled(hit, block_size), "pool")

    tokens, passes, trace = decode_blocks(oracle, prompt, n, propose)
    return (
        tokens,
        passes,
        [record | state for record, state in zip(trace, pool_states, strict=True)],
    )


class NgramPool:
    """For each token the N tokens that followed it at its latest place in the text.

    Args:
        ngram_n: N, at least 1. Only full continuations are kept.
    """

    def __init__(self, ngram_n: int) -> None:
        self.ngram_n = check_at_least(ngram_n, 1, "ngram_n")
        self._latest: dict[int, list[int]] = {}
        self._read = 0  # positions of the text whose continuation is in

    def __len__(self) -> int:
        return len(self._latest)

    def extend(self, text: list[int]) -> list[PoolEntry]:
        """Take in what the text has gained since the last call; return the new entries."""
        added = [
            PoolEntry(
                key=text[position],
                continuation=text[position + 1 : position + 1 + self.ngram_n],
                position=position,
            )
            for position in range(self._read, len(text) - self.ngram_n)
        ]
        self._read += len(added)
        self._latest |= {entry["key"]: entry["continuation"] for entry in added}
        return added

    def look_up(self, key: int) -> list[int] | None:
        """The continuation (N,) of a token, or None if it has none yet."""
        return self._latest.get(key)


def prompt_lookup_decode(
    oracle: Oracle, prompt: Sequence[int], n: int, block_size: int = 5, key_size: int = 2
) -> tuple[list[int], int, list[DecodingPass]]:
    """Guess that the text goes on as it did after the latest place that ended alike.

    Without such a place nothing is guessed. The simplest relative of lookahead: no iteration, no pool. Equal to
    greedy decoding.

    Source: Saxena 2023, *Prompt Lookup Decoding*.

    Args:
        oracle: maps a list of tokens to its greedy next token.
        prompt: at least one token.
        n: new tokens, at least 1.
        block_size: positions of a pass that has a guess, at least 1: one less is guessed, one more follows.
        key_size: longest end of the text to look for, at least 1; shorter ones are tried in turn.

    Returns:
        (tokens, passes, trace): the n new tokens; one record a pass.

    Raises:
        ValueError: an empty prompt, or a number below its least value.
    """
    check_at_least(block_size, 1, "block_size")
    check_at_least(key_size, 1, "key_size")

    def propose(verified: list[int], carried: list[int] | None) -> Proposal:
        found = look_up_in_text(verified, key_size, block_size - 1)
        # one place more than is guessed, for the token that follows the guess
        return Proposal(found + verified[-1:], "text" if found else "none")

    return decode_blocks(oracle, prompt, n, propose)


def look_up_in_text(text: list[int], key_size: int, length: int) -> list[int]:
    """Up to ``length`` tokens that followed the text's end where it stood before.

    The longest end of up to ``key_size`` tokens that did so counts, at its latest place. Nothing is an empty list.
    """
    for size in range(min(key_size, len(text) - 1), 0, -1):
        for start in range(len(text) - size - 1, -1, -1):
            if text[start : start + size] == text[-size:]:
                return text[start + size : start + size + length]
    return []


class WindowPass(TypedDict):
    """One pass of the two branches."""

    n_verified: int  # tokens known before the pass, prompt included
    rows: list[list[int]]  # the window before the pass, oldest generation first
    newest: list[int]  # (window,) the generation that the pass made
    candidates: list[list[int]]  # n-grams that were verified
    n_accepted: int
    emitted: list[int]  # (n_accepted,) the right part of the best candidate, and one more
    positions: int  # tokens that the pass computed on; the prompt isn't counted


class WindowTree(NamedTuple):
    """All that one pass computes on. Each token sees its ancestors: the two branches are one candidate tree."""

    tokens: list[int]
    parents: list[int]
    root: int  # the last verified token
    tips: list[int]  # (window,) the end of each place's chain through the generations
    candidates: list[list[int]]  # nodes of each candidate


def window_lookahead_decode(
    model: GPTModel,
    prompt: Sequence[int],
    n: int,
    window: int = 5,
    ngram_n: int = 3,
    max_candidates: int = 5,
    generator: Chance = None,
) -> tuple[list[int], int, list[WindowPass]]:
    """The published method: each pass makes n-grams in one branch, verifies in the other.

    The lookahead branch holds ``ngram_n`` generations of a Jacobi iteration over ``window`` places ahead of the text,
    and a pass adds the next one. Read across the generations, each place gives one n-gram for the pool: a
    token and the N that the iteration let follow it. The verification branch holds what the pool has for the last
    verified token; the longest right one is kept, and one token more. Equal to greedy decoding.

    Source: Fu et al. 2024, section 3, Algorithm 2.

    Args:
        model: needs positions for the text and for the ``window + ngram_n − 2`` places ahead of it.
        prompt: at least one token.
        n: new tokens, at least 1.
        window: W, places ahead that the lookahead branch works on, at least 1.
        ngram_n: tokens that the pool remembers after its key, at least 1; the paper's N counts the key too.
        max_candidates: G, n-grams a key keeps and a pass verifies, the latest ones; at least 1.
        generator: draws the tokens that the window starts from. It has a say in the number of passes, none in what
            is emitted.

    Returns:
        (tokens, passes, trace): the n new tokens; one record a pass.

    Raises:
        ValueError: an empty prompt, a number below its least value, or a model with too few positions.
    """
    for name, value in {"n": n, "window": window, "ngram_n": ngram_n}.items():
        check_at_least(value, 1, name)
    check_at_least(max_candidates, 1, "max_candidates")
    verified = check_prompt(prompt).tolist()
    wanted = len(verified) + n
    _check_lookahead_room(wanted, window + ngram_n - 2, model.max_seq_len)
    every_token = torch.full((model.vocab_size,), 1 / model.vocab_size, dtype=torch.float64)

    def fresh(count: int) -> list[int]:
        return categorical(every_token, generator, count).tolist() if count else []

    rows = [fresh(window - 1)] + [fresh(window) for _ in range(ngram_n - 1)]
    pool: dict[int, list[list[int]]] = {}
    cache, trace = KVCache(), []
    with evaluating(model), torch.no_grad():
        while len(verified) < wanted:
            candidates = list(pool.get(verified[-1], []))
            past = cache.length
            tree = window_tree(verified[past:], rows, candidates)
            greedy = _tree_pass(model, cache, tree)
            newest = [greedy[tip] for tip in tree.tips]
            _harvest(pool, verified[-1], rows, newest, max_candidates)
            emitted, path = _longest_right(tree, candidates, greedy)
            cache.gather([*range(len(verified)), *(past + node for node in path)])
            emitted = emitted[: wanted - len(verified)]
            trace.append(
                WindowPass(
                    n_verified=len(verified),
                    rows=rows,
                    newest=newest,
                    candidates=candidates,
                    n_accepted=len(emitted),
                    emitted=emitted,
                    positions=len(tree.tokens) - tree.root,
                )
            )
            verified = verified + emitted
            rows = _slide(rows, newest, len(emitted), fresh)
    return verified[-n:], len(trace), trace


def window_tree(
    unseen: list[int], rows: list[list[int]], candidates: list[list[int]]
) -> WindowTree:
    """Lay out a pass: verified tokens that the cache lacks, the window, the candidates.

    The oldest generation is a chain that continues the text. The place i ahead hangs its younger generations, one
    below the other, under the i-th token of that chain; place 0 hangs them under the text itself.

    Args:
        unseen: the verified tokens that aren't in the cache, at least the last one.
        rows: ``ngram_n`` generations, the oldest of window − 1 tokens, the others of window tokens.
        candidates: token lists, each a guess of what follows the text.
    """
    tokens, parents = list(unseen), list(range(-1, len(unseen) - 1))

    def add(token: int, parent: int) -> int:
        tokens.append(token)
        parents.append(parent)
        return len(tokens) - 1

    def add_chain(chain: list[int], parent: int) -> list[int]:
        nodes = [parent]
        for token in chain:
            nodes.append(add(token, nodes[-1]))
        return nodes

    root = len(unseen) - 1
    oldest, *younger = rows
    tips = add_chain(oldest, root)
    for row in younger:
        tips = [add(token, tip) for token, tip in zip(row, tips, strict=True)]
    candidate_nodes = [add_chain(candidate, root)[1:] for candidate in candidates]
    return WindowTree(tokens, parents, root, tips, candidate_nodes)


def _tree_pass(model: GPTModel, cache: KVCache, tree: WindowTree) -> list[int]:
    """The model's greedy next token after each node, from one pass."""
    mask, positions = tree_pass_inputs(tree.parents, cache.length)
    return (
        model(torch.tensor([tree.tokens]), cache, mask, positions)[0]
        .argmax(dim=-1)
        .tolist()
    )


def _longest_right(
    tree: WindowTree, candidates: list[list[int]], greedy: list[int]
) -> tuple[list[int], list[int]]:
    """(emitted, nodes): the longest beginning of a candidate that is greedy's choice, and one token more."""
    best: list[int] = []
    for nodes, candidate in zip(tree.candidates, candidates, strict=True):
        right: list[int] = []
        for node, token in zip(nodes, candidate, strict=True):
            if token != greedy[right[-1] if right else tree.root]:
                break
            right.append(node)
        best = max(best, right, key=len)
    last = best[-1] if best else tree.root
    return [tree.tokens[node] for node in best] + [greedy[last]], best


def _harvest(
    pool: dict[int, list[list[int]]],
    last: int,
    rows: list[list[int]],
    newest: list[int],
    max_candidates: int,
) -> None:
    """Read one n-gram a place across the generations into the pool, the latest at the end of its key's list."""
    oldest, *younger = rows
    for place, key in enumerate([last, *oldest]):
        continuation = [row[place] for row in [*younger, newest]]
        known = [entry for entry in pool.get(key, []) if entry != continuation]
        pool[key] = [*known, continuation][-max_candidates:]


def _slide(
    rows: list[list[int]], newest: list[int], moved: int, fresh: Callable[[int], list[int]]
) -> list[list[int]]:
    """Drop the oldest generation, take in the newest, and move the window on with the text.

    Generation r (from 0) stands r + 1 … r + W places ahead before it takes the place of the one before it. Where the
    move uncovers a place that has no token yet, a fresh one is put.
    """
    oldest, *younger = [*rows[1:], newest]
    kept = [oldest[moved:]] + [row[moved - 1 :] for row in younger]
    widths = [len(newest) - 1] + [len(newest)] * len(younger)
    return [row + fresh(width - len(row)) for row, width in zip(kept, widths, strict=True)]


def _check_lookahead_room(length: int, ahead: int, max_seq_len: int) -> None:
    if length - 1 + ahead > max_seq_len:
        raise ValueError(
            f"a text of {length} tokens and {ahead} places ahead of it need {length - 1 + ahead} positions,"
            f" the model has {max_seq_len}"
        )


class DecoderRun(TypedDict):
    """What one decoder needed for the demonstration's text."""

    tokens: list[int]
    passes: int
    tokens_per_pass: float
    positions_per_token: float  # positions computed for each new token, with a cache: the price in arithmetic


class PassGrid(TypedDict):
    """How many passes each decoder takes for one text, over block sizes (B values) and n-gram sizes (M values)."""

    n_new: int
    block_sizes: list[int]  # (B,)
    ngram_sizes: list[int]  # (M,)
    greedy: int
    jacobi: list[int]  # (B,)
    lookahead: list[list[int]]  # (B, M)


def pass_grid(
    oracle: Oracle,
    prompt: Sequence[int],
    n: int,
    block_sizes: Sequence[int],
    ngram_sizes: Sequence[int],
) -> PassGrid:
    """The data of the pass counter: every decoder's passes at every setting."""
    return PassGrid(
        n_new=n,
        block_sizes=list(block_sizes),
        ngram_sizes=list(ngram_sizes),
        greedy=greedy_decode(oracle, prompt, n)[1],
        jacobi=[
            jacobi_decode(oracle, prompt, n, block_size)[1] for block_size in block_sizes
        ],
        lookahead=[
            [
                lookahead_decode(oracle, prompt, n, block_size, ngram_n)[1]
                for ngram_n in ngram_sizes
            ]
            for block_size in block_sizes
        ],
    )


class LookaheadDemo(TypedDict):
    """Three decoders on the same text."""

    greedy: DecoderRun
    jacobi: DecoderRun
    lookahead: DecoderRun
    n_new: int


def demonstrate_lookahead(
    oracle: Oracle,
    prompt: Sequence[int],
    n_new: int = 24,
    block_size: int = 5,
    ngram_n: int = 4,
) -> LookaheadDemo:
    """Decode greedily, by Jacobi iteration and with the pool; print whether they agree and what each needed."""
    tokens, passes = greedy_decode(oracle, prompt, n_new)
    runs = {"greedy": _run(tokens, passes, positions=n_new)}
    for name, decoded in {
        "jacobi": jacobi_decode(oracle, prompt, n_new, block_size),
        "lookahead": lookahead_decode(oracle, prompt, n_new, block_size, ngram_n),
    }.items():
        tokens, passes, trace = decoded
        runs[name] = _run(tokens, passes, sum(record["positions"] for record in trace))
    identical = all(run["tokens"] == runs["greedy"]["tokens"] for run in runs.values())
    print(f"outputs identical: {identical}")
    for name, run in runs.items():
        print(
            f"{name:>10}: {run['passes']:2d} passes   {run['tokens_per_pass']:.2f} tokens/pass"
        )
    return LookaheadDemo(**runs, n_new=n_new)


def _run(tokens: list[int], passes: int, positions: int) -> DecoderRun:
    return DecoderRun(
        tokens=tokens,
        passes=passes,
        tokens_per_pass=len(tokens) / passes,
        positions_per_token=positions / len(tokens),
    )


def overfit_cycle(
    cycle: Sequence[int],
    generator: torch.Generator | None = None,
    steps: int = 200,
    window: int = 32,
    progress: str | None = None,
) -> GPTModel:
    """Train a tiny GPT, in float64, to repeat a cycle of tokens without end.

    It reads windows that begin anywhere in the cycle. Were they all cut at the same place, it would learn
    which token stands at which position, and then even a wrong block of guesses is refined to the right one.

    Args:
        cycle: at least two tokens.
        generator: draws the initial weights and the windows.
        steps: of training, at least 1.
        window: tokens in a window, at least 1.
        progress: the words before a progress bar; None shows none.
    """
    text = check_prompt(cycle)
    text = text.repeat(1 + 2 * window // len(text))
    model = GPTModel(
        int(text.max()) + 1, 32, 4, 2, 2 * window, generator=generator
    ).double()
    train(
        lambda: next_token_loss(model, draw_windows(text, 8, window + 1, generator)),
        model.parameters(),
        steps,
        progress=progress,
    )
    return model
