"""What the endpoint shows its clients: files that change, and a certificate that is made when there are none."""

from __future__ import annotations

import socket
import ssl
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from structlog.testing import capture_logs

from kinformer.clock import FakeClock
from kinformer.envtest.certificates import Authority
from kinformer.manager.serving.certificates import CertificateError, ServingCertificate
from kinformer.manager.serving.tls import ServerTls
from tests.cache.informers import running


class Files:
    """A certificate and its key, in files."""

    def __init__(self, folder: Path) -> None:
        self.authority = Authority()
        self.cert, self.key = folder / "tls.crt", folder / "tls.key"

    def write(self, name: str, *, half: bool = False) -> None:
        pair = self.authority.issue(name, hosts=("127.0.0.1",))
        self.cert.write_bytes(pair.certificate)
        if not half:
            self.key.write_bytes(pair.key)


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def shown(context: ssl.SSLContext) -> x509.Certificate:
    """The certificate that a new client sees."""
    ours, theirs = socket.socketpair()
    client = ssl.create_default_context()
    client.check_hostname = False
    client.verify_mode = ssl.CERT_NONE

    def serve() -> None:
        with context.wrap_socket(ours, server_side=True) as connection:
            connection.recv(1)

    server = threading.Thread(target=serve)
    server.start()
    with client.wrap_socket(theirs) as connection:
        found = connection.getpeercert(binary_form=True)
        connection.send(b"x")
    server.join()
    assert found is not None
    return x509.load_der_x509_certificate(found)


def client_of(authority: Authority, file: Path, version: ssl.TLSVersion) -> ssl.SSLContext:
    """A client with a certificate of this authority."""
    pair = authority.issue("client")
    file.write_bytes(pair.certificate + pair.key)
    client = ssl.create_default_context()
    client.check_hostname, client.verify_mode, client.maximum_version = False, ssl.CERT_NONE, version
    client.load_cert_chain(file)
    return client


def asked(context: ssl.SSLContext, client: ssl.SSLContext, session: Any = None) -> Any:
    """The session of a connection over which the server has answered; an OSError if it has refused the client."""
    ours, theirs = socket.socketpair()

    def serve() -> None:
        with suppress(OSError), ours, context.wrap_socket(ours, server_side=True) as connection:
            connection.send(b"x" if connection.getpeercert() else b"")

    server = threading.Thread(target=serve)
    server.start()
    try:
        with theirs, client.wrap_socket(theirs, session=session) as connection:
            assert connection.recv(1) == b"x"
            return connection.session
    finally:
        server.join()


def name_of(certificate: x509.Certificate) -> str:
    return certificate.subject.rfc4514_string().removeprefix("CN=")


def test_without_files_a_certificate_is_made_for_the_host_and_this_machine() -> None:
    certificate = shown(ServingCertificate(host="10.1.2.3").context())

    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert {"10.1.2.3", "127.0.0.1", "::1"} == {str(ip) for ip in names.get_values_for_type(x509.IPAddress)}
    assert "localhost" in names.get_values_for_type(x509.DNSName)
    assert certificate.issuer == certificate.subject


def test_a_certificate_for_all_addresses_does_not_name_them() -> None:
    certificate = shown(ServingCertificate(host="0.0.0.0").context())

    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert "0.0.0.0" not in {str(ip) for ip in names.get_values_for_type(x509.IPAddress)}


async def test_files_that_change_are_shown_to_the_next_client(files: Files) -> None:
    files.write("first")
    clock = FakeClock()
    certificate = ServingCertificate(cert_file=files.cert, key_file=files.key, clock=clock)
    context = certificate.context()
    assert name_of(shown(context)) == "first"
    async with running(certificate.run):
        await clock.advance(30)
        assert name_of(shown(context)) == "first"
        files.write("second")
        await clock.advance(10)
        assert name_of(shown(context)) == "second"
        assert certificate.context() is context


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_client_of_a_replaced_authority_is_refused_even_with_a_session(files: Files, version: ssl.TLSVersion) -> None:
    files.write("server")
    old, new, authorities = Authority(), Authority(), files.cert.with_name("clients.crt")
    authorities.write_bytes(old.certificate)
    certificate = ServingCertificate(cert_file=files.cert, key_file=files.key, tls=ServerTls(authorities))
    context, client = certificate.context(), client_of(old, files.cert.with_name("client.pem"), version)
    session = asked(context, client)

    authorities.write_bytes(new.certificate)
    certificate.refresh()

    with pytest.raises(OSError):
        asked(context, client, session)
    assert asked(context, client_of(new, files.cert.with_name("client.pem"), version))


async def test_half_of_a_pair_leaves_the_old_one_and_is_told_once(files: Files) -> None:
    files.write("first")
    certificate = ServingCertificate(cert_file=files.cert, key_file=files.key)
    context = certificate.context()
    files.write("second", half=True)
    with capture_logs() as logs:
        certificate.refresh()
        certificate.refresh()
    assert [line["event"] for line in logs] == ["serving_certificate_not_reloaded"]
    assert name_of(shown(context)) == "first"

    files.key.unlink()
    with capture_logs() as logs:
        certificate.refresh()
    assert str(files.key) in logs[0]["error"]
    files.write("third")
    certificate.refresh()
    assert name_of(shown(context)) == "third"


async def test_a_certificate_that_was_made_here_is_made_again_before_it_ends() -> None:
    clock = FakeClock()
    certificate = ServingCertificate(host="127.0.0.1", clock=clock)
    context = certificate.context()
    first = shown(context).serial_number
    clock.turn(200 * 86400)
    certificate.refresh()
    assert shown(context).serial_number == first
    clock.turn(50 * 86400)
    certificate.refresh()
    assert shown(context).serial_number != first


def test_files_that_are_missing_or_no_certificates_are_named(files: Files) -> None:
    certificate = ServingCertificate(cert_file=files.cert, key_file=files.key)
    with pytest.raises(CertificateError, match=r"tls\.crt: No such file"):
        certificate.context()
    files.cert.write_text("nothing")
    files.key.write_text("nothing")
    with pytest.raises(CertificateError, match=r"no certificate with its key"):
        certificate.context()
    assert certificate._context is None
