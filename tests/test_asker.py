"""Who asked: the client's name and its conversation, from headers and the few fields of a body."""

from __future__ import annotations

import pytest

from proxy.journal.asker import Asker, asker
from tests.support.builders import request_head

UUID = "0f0e0d0c-0b0a-4908-8706-050403020100"


def ask(body=b"{}", target="/v1/chat/completions", agent="chat-client/1.0 (linux)", **headers):
    """What a request tells."""
    return asker(request_head(target, user_agent=agent, **headers), body)


@pytest.mark.parametrize(
    ("agent", "headers", "client", "application"),
    [
        ("claude-cli/2.1.197 (external, cli)", {}, "claude-cli/2.1.197", True),
        ("codex_exec/0.171.0 (Debian 12)", {"x-title": "other"}, "codex_exec/0.171.0", True),
        ("OpenAI/Python 3.57.0", {}, "OpenAI/Python 3.57.0", False),
        ("AsyncOpenAI/Python 3.57.0", {"x-title": "Roo Code"}, "Roo Code", True),
        ("Python/3.11 aiohttp/3.14", {"X-OpenWebUI-Chat-Id": "7"}, "Open WebUI", True),
        ("node", {"x-title": "a\tb"}, "node", False),
        ("curl/8.5", {}, "curl/8.5", False),
        ("", {}, None, False),
        ("", {"x-kilocode-version": "5"}, "Kilo Code", True),
    ],
)
def test_a_client_has_the_name_of_the_application(agent, headers, client, application):
    """The user agent's, unless it only names what the application was built with."""
    found = ask(agent=agent, **headers)
    assert (client, application) == (found.client, found.application)


@pytest.mark.parametrize(
    "name",
    [
        "x-claude-code-session-id", "thread-id", "session_id", "session-id", "x-session-id",
        "x-session-affinity", "x-openwebui-chat-id", "X-KiloCode-TaskId", "conversation_id",
    ],
)  # fmt: skip
def test_a_header_names_the_conversation(name):
    """Whatever its case; what is kept is a short hash."""
    head = request_head()
    named = type(head)(head.method, head.target, head.version, ((name, UUID),))
    found = asker(named, b"").session
    assert 12 == len(found)
    assert found not in UUID
    assert found == ask(x_session_id=UUID).session


@pytest.mark.parametrize(
    "body",
    [
        f'{{"prompt_cache_key": "{UUID}"}}',
        '{"prompt_cache_key": "ses_0123456789abcdef"}',
        '{"session_id": "mine"}',
        f'{{"type": "response.create", "response": {{"prompt_cache_key": "{UUID}"}}}}',
        f'{{"metadata": {{"user_id": "user_00ff_account__session_{UUID}"}}}}',
        f'{{"metadata": {{"user_id": "{{\\"device_id\\": \\"d\\", \\"session_id\\": \\"{UUID}\\"}}"}}}}',
        '{"metadata": {"session_id": "mine"}}',
    ],
)
def test_a_body_names_the_conversation(body):
    """Where clients put it, in a tunnel's message too."""
    assert ask(body.encode()).session is not None


@pytest.mark.parametrize(
    "body",
    [
        b"", b"[]", b"{", b'{"prompt_cache_key": "my-app"}', b'{"prompt_cache_key": 7}',
        b'{"metadata": {"user_id": "jane"}}', b'{"metadata": 7}', b'{"metadata": null}',
        b'{"messages": [{"content": "\\"session_id\\": \\"x\\""}]}', b'{"response": "no object"}',
        b'{"response": {"a": "\\ud800"}, "x": ' + b"[" * 20_000 + b"}", b'{"session_id": "\xff"}',
        b'{"session_id": "  "}', b'{"metadata": {"user_id": "[1]"}}',
        b'{"metadata": {"user_id": "\\ud800"}}',
    ],
)  # fmt: skip
def test_what_names_no_conversation_is_none(body):
    """Keys of a whole application, other types, broken and deep JSON: no id and no exception."""
    assert ask(body) == Asker(client="chat-client/1.0", application=True)


def test_a_helper_has_a_conversation_of_its_own():
    """Claude Code's share a session; opencode's and others name only theirs."""
    session = {"x_claude_code_session_id": UUID}
    assert ask(**session).session != ask(**session, x_claude_code_agent_id="a1").session


def test_the_finest_name_counts():
    """Codex sends its session and its thread."""
    found = ask(session_id="s", thread_id="t").session
    assert found == ask(thread_id="t").session != ask(session_id="s").session


@pytest.mark.parametrize(
    ("declared", "target", "headers"),
    [
        (True, "/v1/responses", {"x_openai_subagent": "compact"}),
        (True, "/v1/responses", {"x_openai_subagent": "memory_consolidation"}),
        (True, "/v1/responses", {"x_openai_memgen_request": "true"}),
        (True, "/v1/responses/compact", {}),
        (False, "/v1/responses", {"x_openai_subagent": "review"}),
        (False, "/v1/responses", {"x_openai_memgen_request": "false"}),
        (False, "/v1/responses", {}),
    ],
)
def test_a_request_may_say_itself_that_nobody_asked(declared, target, headers):
    """By a header or its path; a review was asked for by somebody."""
    assert declared is ask(target=target, **headers).declared


@pytest.mark.parametrize(
    ("fills_in", "target", "body"),
    [
        (True, "/infill", b"{}"),
        (True, "/v1/completions", b'{"prompt": "a", "suffix": "b"}'),
        (False, "/v1/completions", b'{"prompt": "a", "suffix": ""}'),
        (False, "/v1/completions", b'{"prompt": "a"}'),
    ],
)
def test_an_editor_asks_for_what_stands_between(fills_in, target, body):
    """By the path, or a text that is to follow."""
    assert fills_in is ask(body, target).fills_in
