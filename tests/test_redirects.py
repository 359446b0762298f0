"""A redirect that leads past the proxy is said: the client goes there, and its traffic is seen no more."""

from __future__ import annotations

import pytest

from proxy.journal.derive import Context, Understood, derive
from proxy.journal.record import Load
from proxy.wire.head import ReplyHead
from tests.support.builders import asked, exchange, opening, said

UPSTREAM = "http://10.0.0.5:8000"
PAST = "redirect_past_proxy: reply, Location names the upstream's own address"


def noted(status: int, location: str) -> bool:
    """Whether the record of such a reply has the note."""
    reply = ReplyHead(status, (1, 1), (("Location", location),))
    sealed = exchange(reply=reply, opening=opening(upstream=UPSTREAM))
    understood = Understood("openai_chat", asked(), said())
    return PAST in derive(sealed, understood, Context("r", Load(), None)).record.notes


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_to_the_upstream_itself_is_noted(status: int):
    """A server that builds absolute addresses from its `Host` does this to every slash it misses."""
    assert noted(status, f"{UPSTREAM}/v1/models/")


@pytest.mark.parametrize("location", [UPSTREAM, f"{UPSTREAM}?next=1", "HTTP://10.0.0.5:8000/a"])
def test_however_it_is_written(location: str):
    """Without a path, with a query, in capitals."""
    assert noted(307, location)


@pytest.mark.parametrize(
    ("status", "location"),
    [
        (307, "/v1/models/"),
        (307, "//elsewhere"),
        (307, "http://elsewhere/v1"),
        (307, "http://10.0.0.5:80001/"),
        (307, ""),
        (307, "http://"),
        (201, f"{UPSTREAM}/v1/files/1"),
        (304, f"{UPSTREAM}/v1"),
    ],
)
def test_what_leads_back_or_elsewhere_is_not(status: int, location: str):
    """Without an authority it comes back here, another server's is not ours to see, 201 redirects nobody."""
    assert not noted(status, location)
