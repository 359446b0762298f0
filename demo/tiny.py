"""A tiny model with random weights for tests: gibberish at thousands of tokens a second.

One rule: all but the weights is real. The tokenizer is SmolLM2's, so is the server, its cache and
its template engine; only what is said means nothing. A prompt of 20,000 tokens costs seconds, not
minutes, and the file is made from what is installed: nothing is downloaded, nothing is committed.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import gguf
import numpy as np

from .child import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

ALIAS: Final = "tiny-random"
"""The name under which it is served."""

CACHE: Final = ROOT / ".cache"

_LAYERS: Final = 2
_WIDTH: Final = 128
_HEADS: Final = 4
_KV_HEADS: Final = 2
_INNER: Final = 384
_CONTEXT: Final = 131_072
_SPREAD: Final = 0.05

# Dimension 0 of each embedding is a constant, and only the end-of-text row of the output matrix reads
# it: that token's logit is nearly the same at each step, so a reply of random words ends by itself,
# after about 20 tokens at default sampling. Without it a client that sets no limit never gets an end.
_CONSTANT: Final = 4.0
_END_WEIGHT: Final = 0.3

_SHAPE: Final = {
    "general.file_type": int(gguf.LlamaFileType.MOSTLY_F16),
    "general.name": ALIAS,
    "llama.block_count": _LAYERS,
    "llama.context_length": _CONTEXT,
    "llama.embedding_length": _WIDTH,
    "llama.feed_forward_length": _INNER,
    "llama.attention.head_count": _HEADS,
    "llama.attention.head_count_kv": _KV_HEADS,
    "llama.attention.key_length": _WIDTH // _HEADS,
    "llama.attention.value_length": _WIDTH // _HEADS,
    "llama.rope.dimension_count": _WIDTH // _HEADS,
}
_WRITTEN_BY_WRITER: Final = ("GGUF.", "general.architecture")


def tiny_model(source: Path) -> Path:
    """The tiny model's file, made once for each version of this builder and of its source.

    Args:
        source: a GGUF file of the llama family, whose tokenizer is taken over.
    """
    recipe = Path(__file__).read_bytes() + str(source.stat().st_size).encode()
    target = CACHE / f"{ALIAS}-{hashlib.sha256(recipe).hexdigest()[:12]}.gguf"
    if not target.exists():
        CACHE.mkdir(exist_ok=True)
        # Under its own name first, then moved: two test runs at once never read half a file.
        handle, part = tempfile.mkstemp(dir=CACHE, suffix=".part")
        os.close(handle)
        _build(source, Path(part))
        Path(part).replace(target)
    return target


def _build(source: Path, target: Path) -> None:
    reader = gguf.GGUFReader(source)
    writer = gguf.GGUFWriter(target, "llama")
    for field in reader.fields.values():
        if field.name.startswith(_WRITTEN_BY_WRITER):
            continue
        kind = field.types[0]
        inner = field.types[-1] if kind == gguf.GGUFValueType.ARRAY else None
        value = _SHAPE.get(field.name, field.contents())
        writer.add_key_value(field.name, value, kind, sub_type=inner)
    vocabulary = len(_contents(reader, "tokenizer.ggml.tokens"))
    end = int(_contents(reader, "tokenizer.ggml.eos_token_id"))
    for name, values in _tensors(vocabulary, end):
        writer.add_tensor(name, values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _contents(reader: gguf.GGUFReader, name: str) -> Any:
    field = reader.fields[name]
    return field.contents()


def _tensors(vocabulary: int, end: int) -> Iterator[tuple[str, NDArray[Any]]]:
    """All weights by name: the same on each run."""
    generator = np.random.default_rng(0)

    def noise(*shape: int) -> NDArray[np.float16]:
        return (generator.standard_normal(shape) * _SPREAD).astype(np.float16)

    embedding, output = noise(vocabulary, _WIDTH), noise(vocabulary, _WIDTH)
    embedding[:, 0] = _CONSTANT
    output[:, 0] = 0
    output[end] = 0
    output[end, 0] = _END_WEIGHT
    ones = np.ones(_WIDTH, np.float32)
    key = _WIDTH // _HEADS * _KV_HEADS
    yield from (("token_embd.weight", embedding), ("output.weight", output))
    yield "output_norm.weight", ones
    for layer in range(_LAYERS):
        block = f"blk.{layer}."
        yield block + "attn_norm.weight", ones
        yield block + "attn_q.weight", noise(_WIDTH, _WIDTH)
        yield block + "attn_k.weight", noise(key, _WIDTH)
        yield block + "attn_v.weight", noise(key, _WIDTH)
        yield block + "attn_output.weight", noise(_WIDTH, _WIDTH)
        yield block + "ffn_norm.weight", ones
        yield block + "ffn_gate.weight", noise(_INNER, _WIDTH)
        yield block + "ffn_up.weight", noise(_INNER, _WIDTH)
        yield block + "ffn_down.weight", noise(_WIDTH, _INNER)
