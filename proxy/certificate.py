"""The operator's certificate for a listener: judged before anything starts, then made a TLS context.

One rule: what is wrong with a file is said with its key and the remedy, and nothing that stands in a file
is repeated. An encrypted key is refused: a prompt for its password would hold up a start that nobody watches.
"""

from __future__ import annotations

import ssl
import stat
from typing import TYPE_CHECKING, Final

from .config import Fault

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from .config import Route

_CERTIFICATE: Final = b"-----BEGIN CERTIFICATE-----"
_KEY: Final = b"PRIVATE KEY-----"
_ENCRYPTED: Final = (b"-----BEGIN ENCRYPTED PRIVATE KEY-----", b"Proc-Type: 4,ENCRYPTED")
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


def faults(routes: tuple[Route, ...]) -> list[Fault]:
    """What is wrong with the certificates of these routes; none if TLS can begin, or is not wanted."""
    return [fault for n, route in enumerate(routes) for fault in _faults(route, f"route[{n}]")]


def server_context(route: Route) -> ssl.SSLContext | None:
    """For the route's listener; None where it speaks plain HTTP. Raises OSError: see `faults`.

    TLS 1.2 or newer. Only http/1.1 is offered, because the upstream is offered the same: the bytes of both
    sides must be one protocol.
    """
    if route.tls_cert is None or route.tls_key is None:
        return None
    context = _loaded(route.tls_cert, route.tls_key)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_RENEGOTIATION  # CVE-2009-3555, CVE-2011-1473: nobody needs it here
    context.set_alpn_protocols(["http/1.1"])
    return context


def exposed_key(route: Route) -> str | None:
    """The mode of a key that others on this machine may read, such as `0644`; None if it is private."""
    if route.tls_key is None:
        return None
    try:
        mode = stat.S_IMODE(route.tls_key.stat().st_mode)
    except OSError:
        return None
    return f"{mode:04o}" if mode & _OTHERS else None


def exposure_of_key(route: Route) -> str | None:
    """That in a sentence, with the remedy; None if there is nothing to warn of."""
    mode = exposed_key(route)
    if mode is None:
        return None
    return (
        f"others on this machine may read {route.tls_key} (mode {mode}): chmod 600 {route.tls_key}"
    )


def _faults(route: Route, at: str) -> Iterator[Fault]:
    if route.tls_cert is None or route.tls_key is None:
        return
    certificate = _certificate_fault(route.tls_cert)
    key = _key_fault(route.tls_key)
    if certificate:
        yield Fault(f"{at}.tls_cert", *certificate)
    if key:
        yield Fault(f"{at}.tls_key", *key)
    if certificate or key:
        return
    try:
        _loaded(route.tls_cert, route.tls_key)
    except ssl.SSLError as fault:
        yield _misfit(route, fault, at)


def _misfit(route: Route, fault: ssl.SSLError, at: str) -> Fault:
    if fault.reason == "KEY_VALUES_MISMATCH":
        what = f"{route.tls_key} is not the key of the certificate in {route.tls_cert}"
        return Fault(f"{at}.tls_key", what, "name the key that the certificate was made with")
    what = f"{route.tls_cert} and {route.tls_key} cannot be used ({_reason(fault)})"
    remedy = "write the server's own certificate first, then those between it and its root, as PEM"
    return Fault(f"{at}.tls_cert", what, remedy)


def _certificate_fault(path: Path) -> tuple[str, str] | None:
    text = _read(path)
    if isinstance(text, tuple):
        return text
    if _CERTIFICATE in text:
        return None
    return f"{path} holds no certificate", "name a PEM file (-----BEGIN CERTIFICATE-----)"


def _key_fault(path: Path) -> tuple[str, str] | None:
    text = _read(path)
    if isinstance(text, tuple):
        return text
    if any(mark in text for mark in _ENCRYPTED):
        return f"the key in {path} is encrypted", "write it without a password, for this user alone"
    if _KEY in text:
        return None
    return f"{path} holds no private key", "name a PEM file (-----BEGIN PRIVATE KEY-----)"


def _read(path: Path) -> bytes | tuple[str, str]:
    """A file's bytes, or what is wrong with it and what to do."""
    try:
        return path.read_bytes()
    except OSError as fault:
        remedy = "name a file that this user may read"
        return f"{path} cannot be read ({fault.strerror})", remedy


def _loaded(certificate: Path, key: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key, password=lambda: "")  # else OpenSSL asks the terminal
    return context


def _reason(fault: ssl.SSLError) -> str:
    """OpenSSL's own word for it, in small letters."""
    return (fault.reason or "no valid PEM").replace("_", " ").lower()
