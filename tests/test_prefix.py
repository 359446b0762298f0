"""What the record says of a prompt's prefix, over conversations as clients really hold them.

A token is a word here, so every figure can be counted by eye.
"""

from __future__ import annotations

import pytest

from proxy.dialects.base import PromptPart
from proxy.journal.prefix import SLACK, TIME_OUT_NS
from proxy.journal.record import Difference, Prefix
from tests.support.asking import Client, talk
from tests.support.builders import S, words

TOOLS = tuple(PromptPart("tools", "tool", words(300), name) for name in ("look", "write", "run"))
SYSTEM = PromptPart("system", "system", words(500))


Q1, A1, Q2, A2, Q3 = (f"{name} {words(199)}" for name in ("q1", "a1", "q2", "a2", "q3"))
FRONT = 1416
"""Tokens of tools and system, with 12 that a template writes around tools and 4 around a message."""


def test_the_first_prompt_has_nothing_to_share():
    """So it is after a restart: null, not zero."""
    found = Client().send(*TOOLS, SYSTEM, *talk(Q1), cached=0).prefix
    assert found == Prefix(reported=0)


def test_a_conversation_that_goes_on_shares_its_whole_last_prompt():
    """Nothing differs, and what was expected was in the cache."""
    client = Client()
    first = client.send(*TOOLS, SYSTEM, *talk(Q1))
    found = client.send(*TOOLS, SYSTEM, *talk(Q1, A1, Q2), cached=1600).prefix
    whole = sum(part.tokens for part in first.parts)
    assert found == Prefix(
        parent=first.id,
        parent_age_ns=8 * S,
        shared=whole,
        expected=whole,
        reported=1600,
        lost=whole - 1600,
    )


def test_a_server_that_does_not_speak_of_its_cache_has_lost_nothing_known():
    """Reported is null, and no cause is made up."""
    client = Client()
    client.send(*TOOLS, SYSTEM, *talk(Q1))
    found = client.send(*TOOLS, SYSTEM, *talk(Q1, A1, Q2)).prefix
    assert (None, 0, None) == (found.reported, found.lost, found.cause)


def test_a_clock_in_the_system_prompt_empties_the_cache():
    """At its character; all behind it is lost, and the client did it."""
    client = Client()
    now = "now it is {} o'clock " + words(500)
    for hour in (10, 11):
        system = PromptPart("system", "system", now.format(hour))
        found = client.send(*TOOLS, system, *talk(Q1, A1, Q2), cached=900).prefix
    assert Difference(part="system", offset=len("now it is 1")) == found.difference
    assert "system" == found.cause
    assert 912 <= found.shared == found.expected < 930
    assert found.lost > 1000


def test_a_system_prompt_in_blocks_is_counted_through():
    """The offset is that of the system prompt, not of the block."""
    client = Client()
    block = PromptPart("system", "system", words(300))
    client.send(block, PromptPart("system", "system", "noon " + words(500)), *talk(Q1))
    found = client.send(block, PromptPart("system", "system", "night " + words(500)), *talk(Q1))
    assert len(block.text) + 1 == found.prefix.difference.offset


def test_tools_in_another_order_empty_the_cache():
    """From the first one that moved; the tool is named."""
    client = Client()
    client.send(*TOOLS, SYSTEM, *talk(Q1, A1, Q2))
    found = client.send(TOOLS[0], TOOLS[2], TOOLS[1], SYSTEM, *talk(Q1, A1, Q2), cached=300).prefix
    assert ("tools", "tools", "run") == (
        found.cause,
        found.difference.part,
        found.difference.tool,
    )


def test_a_switched_model_begins_anew_and_comes_back_to_its_own():
    """The text is shared, the cache is not; what the first model had read it may still have."""
    client = Client()
    client.send(SYSTEM, *talk(Q1))
    other = client.send(SYSTEM, *talk(Q1, A1, Q2), model="vendor/n", cached=0).prefix
    assert ("model", 0, None) == (other.cause, other.expected, other.difference)
    assert other.shared == other.lost > 500
    back = client.send(SYSTEM, *talk(Q1, A1, Q2, A2, Q3), cached=700).prefix
    assert "model" == back.cause
    assert 700 < back.expected < back.shared


def test_another_server_has_another_cache():
    """The same conversation, sent elsewhere."""
    client = Client()
    client.send(SYSTEM, *talk(Q1))
    found = client.send(SYSTEM, *talk(Q1, A1, Q2), upstream="http://other:1", cached=0).prefix
    assert ("server", 0) == (found.cause, found.expected)


def test_a_provider_in_front_of_a_models_name_does_not_matter():
    """A tag does: it is another model."""
    client = Client()
    client.send(SYSTEM, *talk(Q1), model="m:8b")
    assert client.send(SYSTEM, *talk(Q1), model="openai/m:8b").prefix.cause is None
    assert "model" == client.send(SYSTEM, *talk(Q1), model="m:70b").prefix.cause


def test_an_edited_question_is_a_branch():
    """What is in front of it stays, and what was said behind it is not missed."""
    client = Client()
    for length in (1, 3, 5):
        client.send(SYSTEM, *talk(*(Q1, A1, Q2, A2, Q3)[:length]))
    found = client.send(SYSTEM, *talk(Q1, A1, f"edited {words(900)}"), cached=904).prefix
    assert Difference(part="question", message=2, offset=0) == found.difference
    assert found.parent == "r1-3"
    assert "history rewritten" == found.cause, "600 of the parent's are not there any more"


def test_a_small_edit_is_no_loss():
    """Less than a block."""
    client = Client()
    client.send(SYSTEM, *talk(Q1, A1, "short"))
    found = client.send(SYSTEM, *talk(Q1, A1, "other"), cached=900).prefix
    assert found.difference is not None
    assert found.lost <= SLACK
    assert found.cause is None


def test_a_regenerated_answer_shares_everything():
    """Nothing differs."""
    client = Client()
    first = client.send(SYSTEM, *talk(Q1))
    found = client.send(SYSTEM, *talk(Q1), cached=700).prefix
    assert (first.id, None, None) == (found.parent, found.difference, found.cause)


def test_going_back_shares_all_of_this_prompt():
    """This one is the front of that one: there is no place where they differ."""
    client = Client()
    client.send(SYSTEM, *talk(Q1, A1, Q2))
    found = client.send(SYSTEM, *talk(Q1), cached=700).prefix
    assert (None, None) == (found.difference, found.cause)
    assert found.shared > 700


def test_a_history_whose_old_results_are_cut_is_rewritten():
    """The model's words stay, a result in the middle does not."""
    client = Client()
    long = PromptPart("tool_results", "tool", words(900), message=2)
    short = PromptPart("tool_results", "tool", "cut", message=2)
    before = [
        PromptPart("question", "user", Q1, message=0),
        PromptPart("history", "assistant", A1, message=1),
    ]
    after = [
        PromptPart("history", "assistant", A2, message=3),
        PromptPart("tool_results", "tool", "ok"),
    ]
    client.send(SYSTEM, *before, long, *after)
    found = client.send(SYSTEM, *before, short, *after, cached=900).prefix
    assert ("history rewritten", 2) == (found.cause, found.difference.message)


def test_several_conversations_at_once_have_their_own_parents():
    """Turn by turn, with the same front and without ids."""
    client = Client()
    said_by = {name: [f"{name} {words(99)}"] for name in "abc"}
    last = {}
    for turn in range(4):
        for name, texts in said_by.items():
            record = client.send(*TOOLS, SYSTEM, *talk(*texts))
            if turn:
                assert last[name].id == record.prefix.parent
                assert last[name].thread == record.thread
            last[name] = record
            texts += [f"{name} answers {turn} {words(99)}", f"{name} asks {turn}"]
    assert 3 == len({record.thread for record in last.values()})


def test_a_new_conversation_shares_the_front_and_has_lost_nothing():
    """Its first question differs, which is what new conversations do."""
    client = Client()
    client.send(*TOOLS, SYSTEM, *talk(Q1, A1, Q2))
    found = client.send(*TOOLS, SYSTEM, *talk("something else " + words(300)), cached=FRONT).prefix
    assert (FRONT, None) == (found.shared, found.cause)
    assert "question" == found.difference.part


def test_what_the_server_let_go_is_the_servers():
    """Nothing differs and it is soon."""
    client = Client()
    client.send(*TOOLS, SYSTEM, *talk(Q1))
    found = client.send(*TOOLS, SYSTEM, *talk(Q1, A1, Q2), cached=0).prefix
    assert ("server", found.expected) == (found.cause, found.lost)


@pytest.mark.parametrize(
    ("age_ns", "cause"), [(TIME_OUT_NS, "server"), (TIME_OUT_NS + 1, "time-out")]
)
def test_a_cache_that_waited_too_long_timed_out(age_ns, cause):
    """5 minutes, from the end of the one to the first byte of the other."""
    client = Client()
    client.send(*TOOLS, SYSTEM, *talk(Q1))
    found = client.send(*TOOLS, SYSTEM, *talk(Q1, A1, Q2), cached=0, after_ns=age_ns + 2 * S).prefix
    assert (age_ns, cause) == (found.parent_age_ns, found.cause)


def test_blocks_and_foreign_counts_are_no_loss():
    """A sixteenth of a long prompt is within the error of its count."""
    client = Client()
    long = PromptPart("system", "system", words(8000))
    client.send(long, *talk(Q1))
    found = client.send(long, *talk(Q1, A1, Q2), cached=7800).prefix
    assert found.lost > SLACK
    assert found.cause is None


def test_a_cache_that_has_more_than_was_seen_is_no_loss():
    """The server knew the prompt before this proxy did."""
    client = Client()
    client.send(SYSTEM, *talk(Q1))
    found = client.send(SYSTEM, *talk(Q1, A1, Q2), cached=900).prefix
    assert (0, None) == (found.lost, found.cause)
    assert found.expected < 900


COMPACTED = PromptPart("question", "user", "we go on from this " + words(300), message=0)
SHORTEN = "Please create a detailed summary of the conversation so far. " + words(100)


def test_a_conversation_that_was_shortened_is_rewritten():
    """A summary was asked for, then the same session begins anew behind the same front."""
    client = Client()
    client.send(*TOOLS, SYSTEM, *talk(Q1, A1, Q2), session="s")
    summary = client.send(*TOOLS, SYSTEM, *talk(Q1, A1, Q2, A2, SHORTEN), session="s")
    assert "hidden" == summary.kind
    found = client.send(*TOOLS, SYSTEM, COMPACTED, session="s", cached=FRONT).prefix
    assert ("history rewritten", 0) == (found.cause, found.difference.message)
    assert FRONT == found.shared == found.expected


def test_a_helper_of_the_same_session_is_no_rewriting():
    """It has a front of its own, and its parent's is not missed."""
    client = Client()
    client.send(*TOOLS, SYSTEM, *talk(Q1, A1, Q2), session="s")
    found = client.send(TOOLS[0], *talk("help " + words(300)), session="s", cached=300).prefix
    assert (304, None) == (found.shared, found.cause)


def test_a_prompt_that_only_the_server_has_is_not_compared():
    """The rest of it is on the server."""
    client = Client()
    client.send(SYSTEM, *talk(Q1))
    assert client.send(*talk(Q2), whole=False).prefix is None
    assert client.send().prefix is None
    assert client.send(SYSTEM, generation=False).prefix is None
