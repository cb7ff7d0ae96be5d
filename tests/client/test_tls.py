"""TLS: a connection takes up the session of the one before, and nothing that was not checked."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from cryptography.hazmat.primitives import serialization
from multidict import CIMultiDict
from yarl import URL

from kinformer.client import ConfigError
from kinformer.client.connection import Connections, Way
from kinformer.client.tls import ResumingContext, TlsSource
from kinformer.clock import RealClock
from tests.client.authority import Authority
from tests.client.conftest import ScriptedServer


@pytest.fixture
def source(authority: Authority) -> TlsSource:
    cert, key = authority.client
    return TlsSource(ca_file=authority.ca, cert_file=cert, key_file=key)


async def connected(
    server: ScriptedServer, url: str, context: ssl.SSLContext, name: str = "kube.example"
) -> ssl.SSLObject:
    """A connection of its own, which has answered once."""
    stream = server.stream()
    connections = Connections(RealClock())
    route = connections.route(Way(URL(url), context, name))
    try:
        fields = route.fields(CIMultiDict())
        response = await route.exchange("GET", url, "/", fields, None, within=60, read_timeout=60)
        await stream.send(b"one\n")
        await stream.end()
        assert b"".join(await response.read() or ()) == b"one\n"
        found: ssl.SSLObject = response._wire._transport.get_extra_info("ssl_object")
    finally:
        await connections.close()
    return found


@asynccontextmanager
async def old_server(server: ScriptedServer, authority: Authority) -> AsyncIterator[str]:
    """The scripted server behind TLS 1.2, where the ticket is part of the handshake."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*authority.server)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    listener = await asyncio.start_server(server.serve, "127.0.0.1", 0, ssl=context)
    yield f"https://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    listener.close()


async def test_a_connection_takes_up_the_session_of_the_one_before(
    server: ScriptedServer, tls_server: str, source: TlsSource
) -> None:
    reused = [(await connected(server, tls_server, source.context())).session_reused for _ in range(4)]

    assert reused == [False, True, True, True]


async def test_so_it_does_with_an_old_server(server: ScriptedServer, source: TlsSource, authority: Authority) -> None:
    async with old_server(server, authority) as url:
        reused = [(await connected(server, url, source.context())).session_reused for _ in range(3)]

    assert reused == [False, True, True]


async def test_other_certificates_begin_with_a_whole_handshake(
    server: ScriptedServer, tls_server: str, authority: Authority
) -> None:
    cert, key = authority.client
    source = TlsSource(ca_file=authority.ca)

    for _ in range(2):
        await connected(server, tls_server, source.context((cert.read_bytes(), key.read_bytes())))
    renewed = source.context((cert.read_bytes() + b"\n", key.read_bytes()))

    assert not (await connected(server, tls_server, renewed)).session_reused


async def test_a_session_is_for_the_name_that_was_checked(
    server: ScriptedServer, tls_server: str, source: TlsSource
) -> None:
    context = source.context()
    await connected(server, tls_server, context)

    with pytest.raises(aiohttp.ClientConnectorCertificateError, match=r"not valid for 'other\.example'"):
        await connected(server, tls_server, context, "other.example")


async def test_a_server_that_is_not_trusted_is_not_trusted_later_either(
    server: ScriptedServer, authority: Authority, tmp_path: Path
) -> None:
    stranger = TlsSource(ca_file=Authority(tmp_path).ca)

    async with old_server(server, authority) as url:
        for _ in range(3):
            with pytest.raises(aiohttp.ClientConnectorCertificateError):
                await connected(server, url, stranger.context())


def test_it_is_set_up_as_the_default_context_is(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SSLKEYLOGFILE", raising=False)
    pem = authority.ca.read_bytes()
    default = ssl.create_default_context(cadata=pem.decode())

    made = ResumingContext.trusting(pem)

    for name in ("verify_mode", "check_hostname", "options", "minimum_version", "maximum_version"):
        assert getattr(made, name) == getattr(default, name), name
    assert made.get_ciphers() == default.get_ciphers()
    assert made.get_ca_certs() == default.get_ca_certs()
    assert len(ResumingContext.trusting(b"").get_ca_certs()) == len(ssl.create_default_context().get_ca_certs())


@pytest.mark.parametrize("own", [False, True], ids=["an authority without key identifiers", "the server's own"])
async def test_a_certificate_is_trusted_as_in_go(server: ScriptedServer, tmp_path: Path, *, own: bool) -> None:
    authority = Authority(tmp_path, bare=True)
    trusted = TlsSource(ca_file=authority.server[0] if own else authority.ca).context()

    async with old_server(server, authority) as url:
        connection = await connected(server, url, trusted)

    assert connection.version() == "TLSv1.2"
    assert not trusted.verify_flags & ssl.VERIFY_X509_STRICT  # Python's default since 3.13


def test_an_authority_that_is_no_certificate_is_named(authority: Authority) -> None:
    with pytest.raises(ConfigError, match=r"client\.key: there is no certificate in PEM in it$"):
        TlsSource(ca_file=authority.client[1]).context()


def encrypted(pem: bytes) -> bytes:
    key = serialization.load_pem_private_key(pem, None)
    how = serialization.BestAvailableEncryption(b"secret")
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, how)


def test_what_is_wrong_with_a_client_certificate_is_said_in_words(authority: Authority) -> None:
    (cert, key), (_, other) = authority.client, authority.server
    certificate = cert.read_bytes()
    wrong = {
        "there is no certificate in PEM in it": (key.read_bytes(), key.read_bytes()),
        "there is no private key in PEM for it": (certificate, b""),
        "its private key is encrypted: want one without a password": (certificate, encrypted(key.read_bytes())),
        "the private key is that of another certificate": (certificate, other.read_bytes()),
    }
    for words, (cert_data, key_data) in wrong.items():
        with pytest.raises(ConfigError, match=f"^client certificate data: {words}$"):
            TlsSource(ca_file=authority.ca, cert_data=cert_data, key_data=key_data).context()
