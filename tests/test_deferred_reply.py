"""A reply whose reader is chosen by its first bytes."""

from __future__ import annotations

from proxy.dialects.base import ReplyReading
from proxy.dialects.deferred_reply import DeferredReply
from tests.support.cuts import every_cut


class Heard:
    """A reader that keeps what it was told."""

    def __init__(self):
        self.data = b""
        self.fed = []
        self.closed = 0

    def feed(self, data, at_ns):
        """Keep it."""
        self.data += data
        self.fed.append((data, at_ns))

    def close(self):
        """Count it."""
        self.closed += 1

    def reading(self):
        """What was heard, as the text of an answer."""
        return ReplyReading(text=self.data.decode())


def after(length, reader):
    """Chooses this reader when it has seen so many bytes, or at the end."""
    return lambda start, *, last: reader if last or len(start) >= length else None


def test_bytes_wait_for_the_choice():
    """They come together, with the time of the piece that decided; those behind it come as they do."""
    heard = Heard()
    reply = DeferredReply(after(3, heard))
    for data, at_ns in [(b"a", 1), (b"b", 2), (b"c", 3), (b"d", 4)]:
        reply.feed(data, at_ns)
    reply.close()

    assert heard.fed == [(b"abc", 3), (b"d", 4)]
    assert heard.closed == 1


def test_the_end_forces_a_choice():
    """What has waited until then is read with the time of its last byte."""
    heard = Heard()
    reply = DeferredReply(after(9, heard))
    reply.feed(b"a", 1)
    reply.feed(b"b", 2)

    assert reply.reading() == ReplyReading()
    reply.close()

    assert heard.fed == [(b"ab", 2)]
    assert reply.reading().text == "ab"


def test_without_a_choice_there_is_nothing():
    """A choice that never falls reads nothing, and does not raise."""
    reply = DeferredReply(lambda _start, *, last: None)  # noqa: ARG005 -- it keeps to no promise
    reply.feed(b"a", 1)
    reply.close()

    assert reply.reading() == ReplyReading()


@every_cut
def test_every_byte_is_read_once(cut):
    """In order, wherever the bytes are cut."""
    heard = Heard()
    reply = DeferredReply(after(7, heard))
    for piece in cut(b"0123456789"):
        reply.feed(piece, 0)
    reply.close()

    assert heard.data == b"0123456789"
