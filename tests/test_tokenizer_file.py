"""A model's own tokenizer.json: counted with, named in each count, refused with a remedy."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import pytest

from proxy import tokenizer_file
from proxy.journal.tokens import Counter
from tests.support.source import ROOT

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("tokenizers") is None,
    reason="the optional package tokenizers is missing: make install",
)

# A tokenizer of whole words, in the format of Hugging Face.
WORDS = """
{"version": "1.0", "truncation": {"direction": "Right", "max_length": 2, "strategy": "LongestFirst",
  "stride": 0}, "padding": null, "normalizer": null, "post_processor": null, "decoder": null,
 "added_tokens": [{"id": 4, "content": "<s>", "single_word": false, "lstrip": false, "rstrip": false,
  "normalized": false, "special": true}],
 "pre_tokenizer": {"type": "WhitespaceSplit"},
 "model": {"type": "WordLevel", "vocab": {"z": 0, "a": 1, "b": 2, "?": 3}, "unk_token": "?"}}
"""


@pytest.fixture(name="file")
def _file(tmp_path):
    path = tmp_path / "my-model" / "tokenizer.json"
    path.parent.mkdir()
    path.write_text(WORDS)
    return path


def test_the_file_counts_for_every_model_and_is_named(file):
    """Whatever the model's name; the source is the file and the folder that says whose it is."""
    counter = Counter(lambda _name: tokenizer_file.load(file), fixed=tokenizer_file.name(file))
    for model in ("gpt-4o", "qwen", None):
        tokenizer = counter.tokenizer(model)
        assert tokenizer.source == "tokenizer.json my-model"
        assert tokenizer.count("a b a b a") == 5  # not cut at the length of its training


def test_special_tokens_are_text(file):
    """`<s>` in a prompt is what somebody wrote: its letters, here an unknown word."""
    encoder = tokenizer_file.load(file)
    assert encoder.encode_ordinary("<s> a") == [3, 1]


@pytest.mark.parametrize("text", ["", "{}", "no json", None])
def test_a_file_that_cannot_be_read_is_refused(tmp_path, text):
    """With the key, the path and what to do; nothing is raised."""
    path = tmp_path / "other.json"
    if text is not None:
        path.write_text(text)
    fault = tokenizer_file.fault(path)
    assert fault.startswith(f"tokenizer.file: {path} is no tokenizer.json that can be read (")
    assert fault.endswith("); name another")
    assert tokenizer_file.load(path) is None


def test_a_good_file_has_no_fault(file):
    """Then the proxy starts."""
    assert tokenizer_file.fault(file) is None


def test_without_the_package_the_refusal_names_it(file, monkeypatch):
    """The extra is optional; who configures a file learns what to install."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    assert 'pip install "turnscope[tokenizer]"' in tokenizer_file.fault(file)


def test_the_command_refuses_a_bad_file(tmp_path):
    """`--check` and the start say the same, with exit code 2."""
    config = tmp_path / "config.toml"
    config.write_text(f'[tokenizer]\nfile = "{tmp_path}/none.json"\n')
    command = [sys.executable, "-m", "proxy", "--check", "--journal", str(tmp_path)]
    done = subprocess.run(
        [*command, "--config", str(config)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "turnscope-proxy: tokenizer.file: " in done.stderr
