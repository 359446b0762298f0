"""Hidden requests told from turns; the prompts are made up, with the marks that clients' own have."""

from __future__ import annotations

from itertools import combinations
from typing import get_args

import pytest

from proxy.dialects.base import PromptPart
from proxy.journal.asker import Asker
from proxy.journal.hidden import _WEIGHTS, Finding, Peer, Sign, find
from proxy.wire.exchange import Note
from tests.support.builders import MS, S, asked, words

AGENT = Asker(client="opencode/1.18.33", application=True)
CHAT = Asker(client="Open WebUI", application=True)
LIBRARY = Asker(client="OpenAI/Python 3.57.0")
TURN = Peer(opened_ns=0, model="m", stream=True, max_tokens=None, tools=True)

ALONE = ("declared", "no output asked for", "fills in")

TOOL = PromptPart("tools", "tool", "{}", "look")
ANSWER = PromptPart("history", "assistant", "Here it is.")


def system(text):
    """A system prompt."""
    return PromptPart("system", "system", text)


def question(text, role="user"):
    """What is asked."""
    return PromptPart("question", role, text)


QUOTED = "\n<chat_history>\nuser: hello\nassistant: hi\n</chat_history>"
TITLE = "### Task:\nGenerate a short title for the chat. Answer in JSON." + QUOTED
TAGS = "### Task:\nGenerate two or three tags that say what it is about, as JSON." + QUOTED
FOLLOW = "### Task:\nSuggest some follow-up questions, as JSON." + QUOTED
PREDICT = "### Task:\nPredict three messages which this user may write next, as JSON." + QUOTED
QUERIES = "### Task:\nSay whether it is good to generate search queries, as JSON." + QUOTED
PASTED = "Please provide a fitting title.\nUser: hello\nAI: hi"
LONG_SUMMARY = "Write a summary of the conversation so far. " + words(100)


def look(*parts, who=LIBRARY, peer=None, opened_ns=60 * S, **request):
    """What is found in a request."""
    return find(asked(*parts, **({"model": "m"} | request)), who, peer, opened_ns)


HIDDEN = {
    "opencode's title, before any turn": (
        "title",
        "system asks, question asks, no tools",
        {"parts": (system("You are a title generator."), question("Generate a title for this:")), "who": AGENT},
    ),
    "Claude Code's title, at the same moment": (
        "title",
        "system asks, no tools, other model, same moment",
        {"parts": (system("Write a title."), question("fix it")), "who": AGENT, "peer": TURN, "opened_ns": MS,
         "model": "small"},
    ),
    "Open WebUI's title": (
        "title",
        "question asks, task heading, holds chat, not streamed, json answer",
        {"parts": (question(TITLE),), "stream": False},
    ),
    "Open WebUI's tags": (
        "tags",
        "question asks, task heading, holds chat, not streamed, json answer",
        {"parts": (question(TAGS),), "stream": False},
    ),
    "Open WebUI's follow-ups": (
        "follow-ups",
        "question asks, task heading, holds chat, not streamed, json answer",
        {"parts": (question(FOLLOW),), "stream": False},
    ),
    "Open WebUI's follow-ups, as newer ones ask for them": (
        "follow-ups",
        "question asks, task heading, holds chat, not streamed, json answer",
        {"parts": (question(PREDICT),), "stream": False},
    ),
    "Open WebUI's queries": (
        "queries",
        "question asks, task heading, holds chat, not streamed, json answer",
        {"parts": (question(QUERIES),), "stream": False},
    ),
    "LibreChat's title": (
        "title",
        "question asks, holds chat, not streamed",
        {"parts": (question(PASTED),), "stream": False},
    ),
    "Gemini CLI's router, before any turn": (
        "route",
        "system asks, no tools, json answer",
        {"parts": (system("You do task routing."), question("hi")), "who": Asker("GeminiCLI/0.61.0", application=True),
         "stream": False, "notes": (Note("response_format_not_counted"),)},
    ),
    "a summary to go on from": (
        "summary",
        "question asks, holds chat, long instructions",
        {"parts": (TOOL, ANSWER, question(LONG_SUMMARY))},
    ),
    "a summary that another agent writes": (
        "summary",
        "system asks, holds chat",
        {"parts": (system("You summarise. Write a <state_snapshot>."), ANSWER, question("Begin."))},
    ),
    "Codex's pre-warm": (
        "prewarm",
        "no output asked for",
        {"parts": (system("Be brief."), TOOL), "notes": (Note("prewarm", "request body"),)},
    ),
    "a quota check": (
        "probe",
        "one token, no tools",
        {"parts": (question("quota"),), "who": AGENT, "max_tokens": 1},
    ),
    "an editor that completes": (
        "completion",
        "fills in",
        {"parts": (question("<|fim_prefix|>a = <|fim_suffix|>\n<|fim_middle|>", role=""),)},
    ),
    "an editor that sends a suffix": (
        "completion",
        "fills in",
        {"parts": (question("a = ", role=""),), "who": Asker("e/1", fills_in=True)},
    ),
    "one that says so": ("purpose not known", "declared", {"parts": (question("x"),), "who": Asker(declared=True)}),
    "one that differs from the turn in everything": (
        "purpose not known",
        "no tools, other model, not streamed, short limit",
        {"parts": (question("x"),), "who": CHAT, "peer": TURN, "stream": False, "model": "small",
         "max_tokens": 64},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", HIDDEN)
def test_what_a_client_asks_for_itself_is_hidden(name):
    """And the note says what for, and by which signs."""
    purpose, signs, request = HIDDEN[name]
    found = look(*request["parts"], **{k: v for k, v in request.items() if k != "parts"})
    assert f"hidden: {purpose}, {signs}" == str(found.note())
    assert found.hidden


TURNS = {
    "a question": {"parts": (question("hello"),)},
    "a question without tools, to another model": {
        "parts": (question("hello"),), "who": CHAT, "peer": TURN, "model": "other"},
    "a pasted chat that needs a title": {"parts": (question(PASTED),), "stream": True},
    "a title, asked for with tools at hand": {
        "parts": (TOOL, system("You write a title."), question(PASTED)), "stream": False},
    "an application that makes titles": {
        "parts": (system("You are a title generator."), question("A book about cats")), "stream": False},
    "a person who wants a summary": {
        "parts": (TOOL, ANSWER, question("Write a summary of the conversation so far."))},
    "a long system prompt that speaks of titles": {
        "parts": (system("Write a title for a change. " + words(3000)), question("x")), "who": AGENT},
    "one token of a long question": {"parts": (question(words(50)),), "who": AGENT, "max_tokens": 1},
    "one token of a question with a system prompt": {
        "parts": (system("Be brief."), question("hi")), "who": LIBRARY, "max_tokens": 1},
    "a short limit, as all turns have": {
        "parts": (question("x"),), "who": CHAT, "max_tokens": 64, "stream": False,
        "peer": Peer(0, "m", stream=False, max_tokens=64, tools=True)},
    "two turns at a time": {"parts": (TOOL, question("x")), "who": CHAT, "peer": TURN, "opened_ns": MS},
    "words that a client put there": {
        "parts": (question("Generate a title", role="injected"), question("hello")), "stream": False},
    "a raw text that only looks like one": {"parts": (question("def f(): pass", role=""),)},
    "nothing": {"parts": ()},
}  # fmt: skip


@pytest.mark.parametrize("name", TURNS)
def test_in_doubt_it_is_a_turn(name):
    """One sign alone, or weak ones that people give as well, are not enough."""
    request = TURNS[name]
    found = look(*request["parts"], **{k: v for k, v in request.items() if k != "parts"})
    assert not found.hidden, found.signs


WEAK = [sign for sign in get_args(Sign) if sign not in _WEIGHTS]


@pytest.mark.parametrize(
    "signs", [*combinations(WEAK, 2), *((s,) for s in get_args(Sign) if s not in ALONE)]
)
def test_no_sign_alone_is_enough_nor_are_two_weak_ones(signs):
    """Unless the request itself says so."""
    assert not Finding(None, signs).hidden


@pytest.mark.parametrize("sign", ALONE)
def test_what_a_request_says_itself_is_enough(sign):
    """No other sign is needed."""
    assert Finding(None, (sign,)).hidden


def test_signs_stand_in_one_order():
    """Notes that say the same read the same."""
    _, signs, _ = HIDDEN["Open WebUI's title"]
    order = get_args(Sign)
    assert sorted(signs.split(", "), key=order.index) == signs.split(", ")
