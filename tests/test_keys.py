"""What looks like a key is left out of names; names stay as they are."""

from __future__ import annotations

import pytest

from proxy.journal.keys import without_keys

TAIL = "Q7zKx9mW2vB4nT6yR8uP1aS3dF5gH7jK9lZ0"


@pytest.mark.parametrize(
    "key",
    [
        *(f"{head}{TAIL}" for head in ("sk-", "sk-proj-", "sk-ant-api03-", "sk-or-v1-", "xai-")),
        *(f"{head}{TAIL}" for head in ("pplx-", "nvapi-", "gsk_", "hf_", "r8_", "ghp_", "glpat-")),
        f"AIzaSy{TAIL}",
        "sk-pr***********************Zz9A",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P",
    ],
)
def test_a_key_is_left_out_wherever_it_stands(key: str):
    """Alone, in a sentence, in a path, between quotes; what is around it stays."""
    assert "<key>" == without_keys(key)
    assert "bad key: <key>" == without_keys(f"bad key: {key}")
    assert "/v1/<key>/chat" == without_keys(f"/v1/{key}/chat")
    assert "'<key>' and '<key>'" == without_keys(f"'{key}' and '{key}'")


def test_what_stands_behind_bearer_is_left_out():
    """Of whatever shape."""
    assert "Authorization: Bearer <key>" == without_keys("Authorization: Bearer 0123456789abcdef")


@pytest.mark.parametrize(
    "name",
    [
        "gpt-5-2026-08-07",
        "meta-llama/Llama-3.3-70B-Instruct",
        "hf.co/unsloth/Qwen3-30B-A3B-Instruct-2507-GGUF:Q4_K_M",
        "deepseek-ai/DeepSeek-R1-Distill-Qwen-32B",
        "accounts/fireworks/models/llama-v3p1-405b-instruct",
        "fp_44709d6fcb",
        "mcp__desk-organisation-of-everything__list",
        "task-0123456789abcdef0123",
        "invalid_request_error",
        "the bearer of news",
        "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate",
        "/v1/responses/resp_0123456789abcdef0123456789abcdef",
        "",
    ],
)
def test_a_name_stays_as_it_is(name: str):
    """Models, tools, fingerprints, errors and paths are no keys."""
    assert name == without_keys(name)
