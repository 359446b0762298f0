"""Recent prompts: what a new one shares with them, and how much room they take."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from proxy.dialects.base import PromptPart
from proxy.journal.ledger import Ledger
from proxy.journal.pieces import prompt
from proxy.journal.remembered import NEVER, Stay

LONG = "an answer that is long enough to be told from all others by its own words " * 2


class Book:
    """A ledger, and prompts in it that each took 10 ns and came 100 ns after one another."""

    def __init__(self, **bounds):
        self.ledger = Ledger(**bounds)
        self.now = 0

    def ask(self, *said, cache="here\0m", session=None):
        """A prompt: texts of the user and of the model in turn."""
        self.now += 100
        parts = [
            text
            if isinstance(text, PromptPart)
            else PromptPart("history", "assistant" if n % 2 else "user", text)
            for n, text in enumerate(said)
        ]
        return prompt(parts, f"r1-{self.now}", cache, session, self.now)

    def keep(self, asked, *, thread="t", hidden=False, ready_ns=None, counted=True):
        """Remember it; a token is a character."""
        tokens = [float(len(piece.data)) for piece in asked.pieces] if counted else None
        ready = asked.opened_ns + 5 if ready_ns is None else ready_ns
        self.ledger.add(asked, Stay(thread, hidden, tokens, ready, asked.opened_ns + 10))
        return asked

    def had(self, *said, **how):
        """Ask and remember."""
        stay = {
            k: how.pop(k) for k in list(how) if k in ("thread", "hidden", "ready_ns", "counted")
        }
        return self.keep(self.ask(*said, **how), **stay)

    def parent(self, asked):
        """The parent's id and what is shared with it."""
        found = self.ledger.look(asked).parent
        return found and (found.seen.exchange, found.tokens)


def test_nothing_is_known_at_first():
    """A proxy that was just started has no earlier prompt."""
    book = Book()
    match = book.ledger.look(book.ask("hello"))
    assert (None, None, None) == (match.parent, match.best, match.kin)


def test_a_prompt_that_goes_on_shares_all_of_its_parent():
    """Each turn has the one before it as its parent."""
    book = Book()
    first = book.had("hello")
    second = book.had("hello", LONG, "more")
    third = book.ask("hello", LONG, "more", LONG, "and more")
    assert (second.exchange, 9 + len(LONG)) == book.parent(third)
    assert book.ledger.look(third).parent.all
    assert first.exchange != second.exchange


def test_a_piece_that_differs_is_shared_by_its_letters():
    """Five of eight characters are five of its eight tokens."""
    book = Book()
    first = book.had("same words")
    found = book.ledger.look(book.ask("same other")).parent
    assert (first.exchange, 5.0, 0, 5, False) == (
        found.seen.exchange,
        found.tokens,
        found.pieces,
        found.letters,
        found.all,
    )


def test_a_prompt_that_is_the_front_of_an_earlier_one_shares_all_it_has():
    """Going back to an earlier place of a conversation."""
    book = Book()
    book.had("hello", LONG, "more")
    found = book.ledger.look(book.ask("hello")).parent
    assert (5.0, 0, False) == (found.tokens, found.letters, found.all)


def test_of_prompts_that_share_as_much_the_newest_is_the_parent():
    """Unless one of an own thread is among them."""
    book = Book()
    mine = book.had("front", LONG, "mine", session="s", thread="s")
    other = book.had("front", LONG, "other", session="o", thread="o")
    asked = book.ask("front", LONG, "new", session="s")
    match = book.ledger.look(asked)
    assert (mine.exchange, other.exchange) == (match.parent.seen.exchange, match.best.seen.exchange)


def test_of_fronts_alike_in_whole_pieces_the_longer_one_in_letters_is_the_best():
    """A prompt from the same minute, beside one from another minute."""
    book = Book()
    close = book.had("it is 12:01 and fine")
    book.had("it is 11:59 and fine")
    assert close.exchange == book.ledger.look(book.ask("it is 12:02 and fine")).best.seen.exchange


def test_prompts_that_share_nothing_are_no_parents():
    """Not a letter."""
    book = Book()
    book.had("abc")
    assert book.parent(book.ask("xyz")) is None


def test_two_that_ran_side_by_side_could_not_use_each_other():
    """A prompt counts once a server had read it, not once it came."""
    book = Book()
    first = book.ask("front", LONG, "one")
    second = book.ask("front", LONG, "two")
    book.keep(second)
    assert book.ledger.look(first).parent is None
    book.keep(first, ready_ns=NEVER)
    assert book.parent(book.ask("front", LONG, "one"))[0] == second.exchange


def test_what_never_was_read_is_kin_but_no_parent():
    """A request that failed belongs to its conversation and is in no cache."""
    book = Book()
    failed = book.had("hello", ready_ns=NEVER)
    match = book.ledger.look(book.ask("hello"))
    assert (None, failed.exchange) == (match.parent, match.kin.exchange)


def test_another_model_is_another_cache_and_the_same_conversation():
    """The text is shared, the cache is not."""
    book = Book()
    first = book.had("hello")
    match = book.ledger.look(book.ask("hello", LONG, "more", cache="here\0n"))
    assert (first.exchange, 5.0, None) == (
        match.parent.seen.exchange,
        match.parent.tokens,
        match.best,
    )


def test_another_front_is_the_same_conversation():
    """A clock in the system prompt does not hide what was said."""
    book = Book()
    first = book.had(PromptPart("system", "system", "It is noon."), "hello", "hi", "more")
    later = book.ask(
        PromptPart("system", "system", "It is one."), "hello", "hi", "more", "ok", "on"
    )
    match = book.ledger.look(later)
    assert (first.exchange, 0, 6) == (match.kin.exchange, match.parent.pieces, match.parent.letters)


@pytest.mark.parametrize("said", [("other", LONG, "new"), ("later", "x" * 50, "a", "y" * 50, "b")])
def test_a_models_own_words_tell_a_conversation(said):
    """An edited question, or a history whose beginning was cut off, leaves enough of them."""
    book = Book()
    first = book.had("hello", LONG, "more", "x" * 50, "again", "y" * 50, "end")
    assert first.exchange == book.ledger.look(book.ask(*said)).kin.exchange


def test_a_word_alone_does_not():
    """Many answers begin with `ok`."""
    book = Book()
    book.had("hello", "ok", "more")
    assert book.ledger.look(book.ask("bye", "ok", "so")).kin is None


@pytest.mark.parametrize("session", [None, "other"])
def test_a_client_that_names_its_conversations_is_believed(session):
    """The same words in another conversation are no kin."""
    book = Book()
    book.had("hello", LONG, session="one", thread="one")
    assert book.ledger.look(book.ask("hello", LONG, "more", session=session)).kin is None


def test_hidden_prompts_are_in_the_cache_and_in_no_conversation():
    """What a client asks for itself is nobody's parent in a thread, but it was read."""
    book = Book()
    hidden = book.had("front", LONG, "a title", hidden=True)
    match = book.ledger.look(book.ask("front", LONG, "more"))
    assert (None, hidden.exchange) == (match.kin, match.best.seen.exchange)


def test_without_counts_there_are_no_tokens():
    """The pieces are still compared."""
    book = Book()
    book.had("same words", counted=False)
    found = book.ledger.look(book.ask("same other")).parent
    assert (5, None) == (found.letters, None if found.pieces else found.seen.tokens)
    book.had("same words", LONG, "more", counted=False)
    assert book.ledger.look(book.ask("same words", LONG, "xyz")).parent.tokens is None


def test_a_prompt_is_remembered_once():
    """An id that comes again changes nothing."""
    book = Book()
    asked = book.had("hello")
    size = book.ledger.size
    book.keep(asked)
    assert (1, size) == (len(book.ledger), book.ledger.size)


def test_what_came_first_is_let_go_first():
    """A conversation that goes on keeps what it shares."""
    book = Book(most_prompts=2)
    book.had("hello")
    book.had("hello", LONG, "more")
    third = book.had("hello", LONG, "more", LONG, "yet more")
    assert 2 == len(book.ledger)
    assert third.exchange == book.parent(book.ask("hello", LONG, "more"))[0]
    book.had("a")
    book.had("b")
    assert book.parent(book.ask("hello", LONG, "more")) is None


def test_a_talk_that_was_had_again_outlives_its_first_prompt():
    """The table points to the last prompt that had it."""
    book = Book(most_prompts=2)
    book.had("hello")
    again = book.had("hello")
    book.had("b")
    assert again.exchange == book.ledger.look(book.ask("hello", LONG)).kin.exchange


def test_a_prompt_that_is_larger_than_the_bound_is_not_kept():
    """Nothing is."""
    book = Book(most_bytes=1_000)
    book.had("x" * 2_000)
    assert (0, 0) == (len(book.ledger), book.ledger.size)


SAID = st.lists(st.sampled_from(["a", "b" * 40, "ü" * 90, LONG]), max_size=8)


@given(st.lists(st.tuples(SAID, st.booleans()), max_size=30), st.integers(500, 20_000))
@hypothesis_settings(max_examples=60, deadline=None)
def test_the_bound_holds_and_what_is_let_go_leaves_nothing(talks, bound):
    """After any sequence: the count is within the bound, and is that of what is held."""
    book = Book(most_bytes=bound)
    for said, hidden in talks:
        book.had(*said, hidden=hidden)
        assert book.ledger.size <= bound
    ledger = book.ledger
    held = {node.key for seen in ledger._prompts.values() for node in seen.path}
    texts = {node.text.digest for seen in ledger._prompts.values() for node in seen.path}
    assert (held, texts) == (set(ledger._nodes), set(ledger._texts))
    assert set(map(id, ledger._talks.values())) <= set(map(id, ledger._prompts.values()))
    while len(ledger):
        ledger._let_go()
    assert (0, {}, {}, {}) == (ledger.size, ledger._nodes, ledger._texts, ledger._talks)


@given(SAID, SAID)
@hypothesis_settings(max_examples=60, deadline=None)
def test_no_more_is_shared_than_both_have_and_all_by_one_that_goes_on(said, more):
    """Whatever is said."""
    book = Book()
    first = book.had(*said)
    found = book.ledger.look(book.ask(*said, *more)).parent
    size = sum(len(piece.data) for piece in first.pieces)
    assert (found.tokens if found else 0) == size
    other = book.ledger.look(asked := book.ask(*more)).parent
    own = sum(len(piece.data) for piece in asked.pieces)
    assert (other.tokens if other else 0) <= min(size, own) + 1e-6


def test_the_count_of_bytes_is_not_below_the_truth():
    """Many small pieces, which is where a count would be wrong."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        book = Book(most_bytes=2**30)
        for n in range(300):
            book.had(*[f"{n} {m}" for m in range(20)])
        taken = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert taken <= book.ledger.size
    assert taken > book.ledger.size / 4, "and not far above it"
