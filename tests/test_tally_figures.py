"""The server's own figures: under which names, and how many of them are kept."""

from __future__ import annotations

from proxy.dialects.tally import Tally


def test_figures_keep_their_names():
    """Numbers are reported, objects inside by their path; the last value of a name holds."""
    tally = Tally(200)
    tally.report(
        {"prompt_ms": 1.5, "spec": {"rate": 0.5, "histogram": [1], "text": "x"}, "on": True}
    )
    tally.report({"prompt_ms": 2.5}, "again.")
    tally.report({"prompt_ms": 3.5})

    expected = {"prompt_ms": 3.5, "spec.rate": 0.5, "again.prompt_ms": 2.5}
    assert tally.reading(streamed=True).reported == expected


def test_a_word_is_a_figure():
    """Among the figures under its name, cut, within their bound; an empty one is none."""
    tally = Tally(200)
    tally.word("empty", "")
    tally.word("stop_reason", "e" * 100)
    tally.report({f"n{n}": n for n in range(500)})
    tally.word("late", "x")

    reported = tally.reading(streamed=True).reported
    assert reported["stop_reason"] == "e" * 80
    assert "empty" not in reported
    assert "late" not in reported


def test_figures_are_bounded():
    """Neither many names nor deep nesting nor long names fill the record."""
    tally = Tally(200)
    deep = {"a": 1}
    for _ in range(5000):
        deep = {"deep": deep}
    tally.report({"x" * 500: 1, "inside": deep})
    tally.report({f"n{n}": n for n in range(500)})

    reported = tally.reading(streamed=True).reported

    assert len(reported) == 64
    assert max(map(len, reported)) == 80
