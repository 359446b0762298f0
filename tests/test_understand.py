"""Asking a dialect: the request is read from its body, the reply by whoever listened to it."""

from __future__ import annotations

from proxy.dialects.base import RequestReading
from proxy.journal.derive import Understood, understand
from tests.support.builders import exchange, said


class Hello:
    """A dialect that reads the model out of the body and hears nothing."""

    name = "hello"

    def bid(self, _request, _start):
        """Never chosen: it is given."""
        return 0

    def read_request(self, _request, body):
        """The body is the model's name."""
        return RequestReading(model=body.decode())

    def reply_reader(self, _request, _reply):
        """Hears."""
        return Heard()


class Heard:
    """A reader that understood one thing."""

    def feed(self, _data, _at_ns):
        """Passes over."""

    def close(self):
        """Nothing to do."""

    def reading(self):
        """What it understood."""
        return said(model="m")


def test_a_dialect_reads_the_request_and_has_heard_the_reply():
    """The request is read from its body, the reply from whoever listened."""
    found = understand(exchange(request_body=b"m", heard=Heard()), Hello())
    assert found == Understood("hello", RequestReading(model="m"), said(model="m"))
    assert understand(exchange(), Hello()).reply is None


def test_without_a_request_head_no_dialect_is_asked():
    """Nothing was asked for that anyone could read."""
    found = understand(exchange(request=None), Hello())
    assert found == Understood("hello", RequestReading(generation=False), None)
