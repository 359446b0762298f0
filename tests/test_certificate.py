"""A listener's certificate and key: what is wrong with them is named before anything starts."""

from __future__ import annotations

import ssl
import subprocess
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from proxy.certificate import exposure_of_key, faults, server_context
from proxy.command import turnscope_proxy
from proxy.config import Route
from tests.support import refusal
from tests.support.tls import self_signed

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.tls import Certificate


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    """A certificate with its key."""
    return self_signed(tmp_path_factory.mktemp("certificate"))


def route(made: Certificate, **changes: object) -> Route:
    """A route with a TLS listener."""
    return Route(**{"tls_cert": made.certificate, "tls_key": made.key, **changes})


def test_what_is_wrong_with_a_certificate_is_named(made: Certificate, tmp_path: Path):
    """Missing, unreadable, the wrong kind of file, and two that do not fit: key, fault, remedy."""
    (other := tmp_path / "other").mkdir()
    foreign = self_signed(other)
    text = tmp_path / "text.pem"
    text.write_text("hunter2")
    locked = tmp_path / "locked.pem"
    subprocess.run(
        ["openssl", "pkey", "-in", made.key, "-aes128", "-passout", "pass:x", "-out", locked],
        check=True,
        capture_output=True,
    )

    def said(**changes: object) -> str:
        return "\n".join(map(str, faults((Route(), route(made, **changes)))))

    assert "" == said()
    gone = tmp_path / "none.pem"
    assert said(tls_cert=gone) == (
        f"route[1].tls_cert: {gone} cannot be read (No such file or directory); "
        "name a file that this user may read"
    )
    assert said(tls_key=tmp_path).startswith("route[1].tls_key: ")
    assert "holds no certificate" in said(tls_cert=made.key)
    assert "holds no private key" in said(tls_key=made.certificate)
    assert "is encrypted" in said(tls_key=locked)
    assert "is not the key of the certificate" in said(tls_key=foreign.key)
    both = said(tls_cert=text, tls_key=text)
    assert ["route[1].tls_cert", "route[1].tls_key"] == [
        line.split(":")[0] for line in both.splitlines()
    ]
    assert "hunter2" not in both


def test_a_broken_certificate_is_named(made: Certificate, tmp_path: Path):
    """The right marks with junk between them: OpenSSL's word for it, none of the file's."""
    broken = tmp_path / "broken.pem"
    broken.write_text("-----BEGIN CERTIFICATE-----\nhunter2\n-----END CERTIFICATE-----\n")

    (fault,) = faults((route(made, tls_cert=broken),))

    assert "cannot be used" in fault.what
    assert "hunter2" not in str(fault)


def test_both_or_neither(tmp_path: Path):
    """One of the two alone is a fault of the other."""
    for one, other in (("tls_cert", "tls_key"), ("tls_key", "tls_cert")):
        file = refusal.written(tmp_path, f'[[route]]\n{one} = "/x.pem"')

        assert [f"route[0].{other}: is missing beside {one}; write both or neither"] == (
            refusal.faults(file)
        )


def test_a_key_that_others_may_read_is_a_warning(made: Certificate, tmp_path: Path):
    """It is used all the same; the remedy is a command."""
    key = tmp_path / "key.pem"
    key.write_bytes(made.key.read_bytes())
    for mode, warned in ((0o600, False), (0o400, False), (0o640, True), (0o644, True)):
        key.chmod(mode)
        said = exposure_of_key(route(made, tls_key=key))
        assert warned == (said is not None)
    assert said == f"others on this machine may read {key} (mode 0644): chmod 600 {key}"
    assert [] == faults((route(made, tls_key=key),))
    assert exposure_of_key(Route()) is None


def test_a_context_is_for_tls_1_2_and_newer(made: Certificate):
    """Whatever OpenSSL is set to on this machine; without a certificate there is none."""
    context = server_context(route(made))

    assert ssl.TLSVersion.TLSv1_2 == context.minimum_version
    assert context.options & ssl.OP_NO_RENEGOTIATION
    assert server_context(Route()) is None


def test_check_names_faults_and_warns_of_the_key(made: Certificate, tmp_path: Path):
    """`--check` reads the files: exit 2 with the fault's key, or a plan with the warning."""
    key = tmp_path / "key.pem"
    key.write_bytes(made.key.read_bytes())
    key.chmod(0o644)

    def check(certificate: Path) -> tuple[int, str]:
        text = f'[[route]]\ntls_cert = "{certificate}"\ntls_key = "{key}"'
        file = refusal.written(tmp_path, text)
        flags = ["--check", "--config", str(file), "--journal", str(tmp_path)]
        done = CliRunner().invoke(turnscope_proxy, flags)
        return done.exit_code, done.output

    status, said = check(tmp_path / "none.pem")
    assert 2 == status
    assert "route[0].tls_cert: " in said

    status, said = check(made.certificate)
    assert 0 == status
    assert "put https://127.0.0.1:8484/v1 into the client" in said
    assert f"warning: others on this machine may read {key}" in said
