"""TLS for the test kit, between bytes and bytes, and a certificate made on the spot.

One rule: no socket here. `Endpoint` moves the bytes, so stamps and ends mean the same with TLS.
"""

from __future__ import annotations

import shutil
import ssl
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Certificate:
    """A self-signed certificate for 127.0.0.1, ::1 and localhost, with its key."""

    certificate: Path
    key: Path

    def server(self) -> ssl.SSLContext:
        """For an upstream. It would rather speak h2: who offers that gets it and shows it."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, self.key)
        context.set_alpn_protocols(["h2", "http/1.1"])
        return context

    def client(self) -> ssl.SSLContext:
        """For a client that trusts this certificate and no other."""
        return ssl.create_default_context(cafile=str(self.certificate))


def self_signed(folder: Path) -> Certificate:
    """Make a certificate in `folder` with the openssl program; skip the test where there is none.

    Run the product with `SSL_CERT_FILE` set to its `certificate` and it is trusted.
    """
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("no openssl program to make a certificate with")
    made = Certificate(folder / "certificate.pem", folder / "key.pem")
    names = "subjectAltName=DNS:localhost,IP:127.0.0.1,IP:::1"
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    files = ["-keyout", str(made.key), "-out", str(made.certificate)]
    subject = ["-days", "2", "-subj", "/CN=turnscope test", "-addext", names]
    subprocess.run(
        [openssl, "req", "-x509", *key, *files, *subject], check=True, capture_output=True
    )
    return made


class Tls:
    """One side of a TLS connection. Bytes from the peer in, plain bytes out, and the reverse."""

    def __init__(self, context: ssl.SSLContext, server_name: str | None = None) -> None:
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._ssl = context.wrap_bio(
            self._in, self._out, server_side=server_name is None, server_hostname=server_name
        )
        self._shaken = False
        self.closed = False
        """Whether the peer has said that nothing more will come."""

    @property
    def alpn(self) -> str | None:
        """The protocol that was agreed on; None if none was offered."""
        return self._ssl.selected_alpn_protocol()

    def handshake(self) -> bool:
        """Go as far as possible; True when it is done."""
        try:
            self._ssl.do_handshake()
        except ssl.SSLWantReadError:
            return False
        self._shaken = True
        return True

    def has_news(self) -> bool:
        """Whether bytes came that the handshake has not looked at."""
        return self._in.pending > 0

    def decrypt(self, data: bytes) -> bytes:
        """Plain bytes of what came; none before the handshake is over. Empty `data` is the FIN."""
        if data:
            self._in.write(data)
        else:
            self._in.write_eof()
        return self.decrypt_waiting()

    def decrypt_waiting(self) -> bytes:
        """Plain bytes of what came before and was not read yet."""
        plain = b""
        while self._shaken and not self.closed:
            try:
                part = self._ssl.read(1 << 16)
            except ssl.SSLWantReadError:
                break
            except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
                part = b""
            plain += part
            self.closed = not part
        return plain

    def encrypt(self, data: bytes) -> bytes:
        """What to send so that the peer gets `data`."""
        self._ssl.write(data)
        return self.outgoing()

    def close(self) -> None:
        """Say close_notify; `outgoing` has it."""
        try:
            self._ssl.unwrap()
        except ssl.SSLError:
            return  # the peer's own close_notify has not come yet: nothing to wait for here

    def outgoing(self) -> bytes:
        """What must go to the peer now."""
        return self._out.read()
