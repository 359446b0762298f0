"""What is put off: nothing is read out of order, nothing piles up, and no fault reaches another."""

from __future__ import annotations

from proxy.wire.notes import MOST_BYTES, Notes


class Ear:
    """A listener that keeps what it heard, in a list of all ears."""

    def __init__(self, name: str, heard: list[tuple[str, object]]) -> None:
        self._name = name
        self._heard = heard

    def hear(self, hear, args):
        """Keep it."""
        del hear
        self._heard.append((self._name, *args))


def made():
    """Notes, the list of what was heard, two ears, and what was to be done soon."""
    heard: list[tuple[str, object]] = []
    due: list[object] = []
    return Notes(due.append), heard, Ear("a", heard), Ear("b", heard), due


def test_all_connections_are_heard_in_the_order_of_what_happened():
    """Else an exchange that ended before another began would seem to have run beside it."""
    notes, heard, a, b, due = made()
    for ear, what in ((a, 1), (b, 2), (a, 3), (b, 4)):
        notes.add(ear, int, (what,))
    assert heard == []
    (settle,) = due
    settle()
    assert heard == [("a", 1), ("b", 2), ("a", 3), ("b", 4)]


def test_it_asks_once_for_each_time():
    """Not for each note, and again once all was heard."""
    notes, heard, a, _b, due = made()
    notes.add(a, int, (1,))
    notes.add(a, int, (2,))
    assert len(due) == 1
    notes.settle()
    notes.settle()
    assert heard == [("a", 1), ("a", 2)]
    notes.add(a, int, (3,))
    assert len(due) == 2


def test_long_bodies_are_heard_at_once():
    """They do not pile up, and what was noted before them comes before them."""
    notes, heard, a, b, _due = made()
    notes.add(a, int, (1,), 10)
    notes.add(b, int, (2,), MOST_BYTES)
    assert heard == [("a", 1), ("b", 2)]


def test_what_is_noted_while_it_is_heard_is_heard_too():
    """In its turn: a caller that is told something may bring about the next thing."""
    notes, heard, a, _b, due = made()

    class Echo:
        def hear(self, hear, args):
            del hear, args
            notes.add(a, int, ("again",))

    notes.add(Echo(), int, ())
    notes.settle()
    assert heard == []
    assert len(due) == 2
    notes.settle()
    assert heard == [("a", "again")]
