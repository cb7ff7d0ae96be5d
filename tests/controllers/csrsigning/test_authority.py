"""Certificates hold what was asked for and no more, and others accept them."""

from __future__ import annotations

import base64
import ssl
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.streams.tls import TLSListener, TLSStream
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed448, ed25519, padding, rsa

from kinformer_controllers.csrsigning.authority import (
    CertificateAuthority,
    RequestRefused,
    SigningError,
    extended_key_usages,
    key_usages,
)
from kinformer_controllers.shared.certificates.pkcs10 import element, identifier
from kinformer_controllers.shared.certificates.requests import read_request
from tests.controllers.csrsigning.authorities import write_authority
from tests.controllers.shared.certificates.odd import SHORT_RSA_KEY, by, der_name, der_request, extension_request
from tests.controllers.shared.certificates.requests import make_request, pem_of_request

NOW = datetime(2026, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
BACK = timedelta(minutes=5)


def signed(
    authority: CertificateAuthority,
    pem: bytes | None = None,
    usages: tuple[str, ...] = ("digital signature", "client auth"),
    life: timedelta = HOUR,
    now: datetime = NOW,
) -> x509.Certificate:
    return x509.load_pem_x509_certificate(authority.sign(read_request(make_request(pem)), usages, life, now))


@pytest.fixture
def authority(tmp_path: Path) -> CertificateAuthority:
    return CertificateAuthority(write_authority(tmp_path))


def test_a_certificate_has_the_requests_subject_key_and_names(authority: CertificateAuthority) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    pem = pem_of_request("n", ("a", "b"), dns=("x.example",), ips=("10.0.0.1",), uris=("spiffe://x",), key=key)

    certificate = signed(authority, pem)

    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    assert certificate.subject.rfc4514_string() == "CN=n,O=a+O=b"
    assert certificate.public_key() == key.public_key()
    assert names.value.get_values_for_type(x509.DNSName) == ["x.example"]
    assert names.value.get_values_for_type(x509.UniformResourceIdentifier) == ["spiffe://x"]
    assert not names.critical
    assert certificate.serial_number.bit_length() <= 160


def test_the_names_of_a_certificate_without_a_subject_are_critical(authority: CertificateAuthority) -> None:
    certificate = signed(authority, pem_of_request("", (), dns=("x.example",)))

    assert certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).critical


def test_a_certificate_is_no_authority_and_names_the_one_that_made_it(
    authority: CertificateAuthority, tmp_path: Path
) -> None:
    extensions = signed(authority).extensions

    issuer = x509.load_pem_x509_certificate((tmp_path / "ca.crt").read_bytes())
    own = issuer.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    constraints = extensions.get_extension_for_class(x509.BasicConstraints)
    assert constraints.value == x509.BasicConstraints(ca=False, path_length=None)
    assert constraints.critical
    assert extensions.get_extension_for_class(x509.AuthorityKeyIdentifier).value.key_identifier == own.digest


def test_extensions_that_a_request_asks_for_are_left_out(authority: CertificateAuthority) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    builder = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([]))
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    builder = builder.add_extension(
        x509.UnrecognizedExtension(x509.ObjectIdentifier("1.2.3"), b"\x05\x00"), critical=True
    )
    pem = builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)

    extensions = signed(authority, pem).extensions

    assert not extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    assert "1.2.3" not in [extension.oid.dotted_string for extension in extensions]


def test_only_names_that_the_api_server_sees_go_into_a_certificate(authority: CertificateAuthority) -> None:
    subject = der_name(
        ("2.5.4.3", 0x0C, b"kubernetes-admin"),
        ("1.3.6.1.4.1.57683.2", 0x0C, b"spoofed-uid"),
        ("1.2.840.113549.1.9.1", 0x16, b"ceo@corp.example"),
        ("2.5.4.10", 0x1C, "system:masters".encode("utf-32-be")),  # Go does not read a UniversalString
        ("2.5.4.10", 0x04, b"system:masters"),
        ("2.5.4.10", 0x14, "caf\u00e9".encode("latin-1")),
        ("2.5.4.5", 0x13, b"7"),
        ("2.5.4.3", 0x1E, (long := "system:node:" + "n" * 200).encode("utf-16-be")),
    )
    directory_name = element(0xA4, der_name(("2.5.4.3", 0x0C, b"kubernetes-admin")))
    principal = element(0xA0, identifier("1.3.6.1.4.1.311.20.2.3"), element(0xA0, element(0x0C, b"admin@corp.example")))
    names = (
        element(0x87, bytes(10) + b"\xff\xff\x0a\x00\x00\x01"),
        element(0x86, b"SPIFFE://x#"),
        element(0x82, b"x.example"),
        element(0x81, b"no address"),
    )
    microsofts = extension_request(element(0x82, b"evil.example"), attribute="1.3.6.1.4.1.311.2.1.14")

    certificate = signed(
        authority, der_request(subject, extension_request(directory_name, *names, principal), microsofts)
    )

    organization = element(0x31, element(0x30, identifier("2.5.4.10"), element(0x0C, "caf\u00e9".encode())))
    common_name = element(0x31, element(0x30, identifier("2.5.4.3"), element(0x13, long.encode())))
    serial_number = element(0x31, element(0x30, identifier("2.5.4.5"), element(0x13, b"7")))
    assert element(0x30, organization, common_name, serial_number) in certificate.tbs_certificate_bytes
    found = certificate.extensions.get_extension_for_oid(x509.ExtensionOID.SUBJECT_ALTERNATIVE_NAME).value
    assert found.public_bytes() == element(
        0x30,
        element(0x82, b"x.example"),
        element(0x81, b"no address"),
        element(0x87, b"\x0a\x00\x00\x01"),
        element(0x86, b"spiffe://x"),
    )


def test_a_subject_like_the_authoritys_does_not_name_the_authoritys_key(authority: CertificateAuthority) -> None:
    extensions = signed(authority, pem_of_request("ca", ())).extensions

    assert "2.5.29.35" not in [extension.oid.dotted_string for extension in extensions]


P256 = ec.generate_private_key(ec.SECP256R1())
RSA = rsa.generate_private_key(65537, 2048)
SHA256, SHA1 = hashes.SHA256(), hashes.SHA1()
SHORT_RSA = serialization.load_der_private_key(base64.b64decode(SHORT_RSA_KEY), None)


@pytest.mark.parametrize(
    ("key", "oid", "sign", "accepted"),
    [
        (RSA, "1.2.840.113549.1.1.5", lambda it: RSA.sign(it, padding.PKCS1v15(), SHA1), True),
        (P256, "1.2.840.10045.4.1", lambda it: P256.sign(it, ec.ECDSA(SHA1)), True),
        (RSA, "1.2.840.113549.1.1.4", lambda it: RSA.sign(it, padding.PKCS1v15(), hashes.MD5()), False),
        (RSA, "1.2.840.113549.1.1.14", lambda it: RSA.sign(it, padding.PKCS1v15(), hashes.SHA224()), False),
        (P256, "1.2.840.10045.4.3.1", lambda it: P256.sign(it, ec.ECDSA(hashes.SHA224())), False),
        (P256, "1.2.840.113549.1.1.11", lambda it: P256.sign(it, ec.ECDSA(SHA256)), False),
        (P256, "1.2.840.10045.4.3.2", lambda it: P256.sign(it + b"x", ec.ECDSA(SHA256)), False),
        (SHORT_RSA, "1.2.840.113549.1.1.11", lambda it: SHORT_RSA.sign(it, padding.PKCS1v15(), SHA256), False),
        (key := ed25519.Ed25519PrivateKey.generate(), "1.3.101.112", key.sign, True),
        (key, "1.3.101.113", key.sign, False),
        (key := ed448.Ed448PrivateKey.generate(), "1.3.101.113", key.sign, False),
        (key := ec.generate_private_key(ec.SECP224R1()), "1.2.840.10045.4.3.2", by(key, ec.ECDSA(SHA256)), True),
        (key := ec.generate_private_key(ec.SECP256K1()), "1.2.840.10045.4.3.2", by(key, ec.ECDSA(SHA256)), False),
        (key := dsa.generate_private_key(1024), "2.16.840.1.101.3.4.3.2", by(key, SHA256), False),
    ],
)
def test_keys_and_signatures_are_accepted_as_the_api_server_does(
    authority: CertificateAuthority, key: Any, oid: str, sign: Any, accepted: bool
) -> None:
    pem = der_request(der_name(("2.5.4.3", 0x0C, b"n")), key=key, algorithm=oid, sign=sign)

    if accepted:
        assert signed(authority, pem).public_key() == key.public_key()
    else:
        with pytest.raises(RequestRefused, match="unable to verify certificate request signature"):
            signed(authority, pem)


def test_the_usages_that_are_asked_for_are_those_of_the_certificate(authority: CertificateAuthority) -> None:
    extensions = signed(authority, usages=("signing", "key encipherment", "server auth", "client auth")).extensions

    usage = extensions.get_extension_for_class(x509.KeyUsage)
    assert usage.critical
    assert usage.value.digital_signature
    assert usage.value.key_encipherment
    assert not usage.value.key_cert_sign
    purposes = [it.dotted_string for it in extensions.get_extension_for_class(x509.ExtendedKeyUsage).value]
    assert purposes == ["1.3.6.1.5.5.7.3.1", "1.3.6.1.5.5.7.3.2"]


@pytest.mark.parametrize(
    ("usages", "fields", "purposes"),
    [
        (("signing", "digital signature"), {"digital_signature"}, []),
        (("content commitment",), {"content_commitment"}, []),
        (("cert sign", "crl sign", "data encipherment"), {"key_cert_sign", "crl_sign", "data_encipherment"}, []),
        (("key agreement", "encipher only"), {"key_agreement", "encipher_only"}, []),
        (("encipher only",), set(), []),
        (("client auth", "server auth"), None, ["1.3.6.1.5.5.7.3.1", "1.3.6.1.5.5.7.3.2"]),
        (("s/mime", "email protection"), None, ["1.3.6.1.5.5.7.3.4"]),
        (("any", "netscape sgc"), None, ["2.5.29.37.0", "2.16.840.1.113730.4.1"]),
        ((), None, []),
    ],
)
def test_usages_are_told_apart(usages: tuple[str, ...], fields: set[str] | None, purposes: list[str]) -> None:
    found: Any = key_usages(usages)

    if fields is None:
        assert found is None
    else:
        assert {field for field in vars(found) if getattr(found, field)} == {f"_{field}" for field in fields}
    assert [it.dotted_string for it in extended_key_usages(usages)] == purposes


@pytest.mark.parametrize(
    ("life", "until"),
    [
        (10 * HOUR, 10 * HOUR - BACK),
        (8 * HOUR, 8 * HOUR - BACK),
        (8 * HOUR - timedelta(seconds=1), 8 * HOUR - timedelta(seconds=1)),
        (timedelta(minutes=10), timedelta(minutes=10)),
    ],
)
def test_a_certificate_begins_five_minutes_ago_and_keeps_a_short_length(
    authority: CertificateAuthority, life: timedelta, until: timedelta
) -> None:
    certificate = signed(authority, life=life)

    assert certificate.not_valid_before_utc == NOW - BACK
    assert certificate.not_valid_after_utc == NOW + until


def test_a_certificate_does_not_outlive_its_authority(tmp_path: Path) -> None:
    authority = CertificateAuthority(write_authority(tmp_path, NOW + HOUR))

    assert signed(authority, life=2 * HOUR).not_valid_after_utc == NOW + HOUR


@pytest.mark.parametrize("since", [timedelta(), timedelta(minutes=1), HOUR])
def test_an_authority_that_is_over_signs_nothing(tmp_path: Path, since: timedelta) -> None:
    authority = CertificateAuthority(write_authority(tmp_path, NOW))

    with pytest.raises(SigningError, match="the signer has expired"):
        signed(authority, now=NOW + since)


async def test_changed_files_are_read_again_and_broken_ones_change_nothing(tmp_path: Path) -> None:
    files = write_authority(tmp_path, name="first")
    authority = CertificateAuthority(files)
    write_authority(tmp_path, name="second")
    assert signed(authority).issuer.rfc4514_string() == "CN=first"

    await authority.refresh()
    assert signed(authority).issuer.rfc4514_string() == "CN=second"
    _break(files.key)
    await authority.refresh()
    assert signed(authority).issuer.rfc4514_string() == "CN=second"
    _remove(files.certificate)
    await authority.refresh()
    assert signed(authority).issuer.rfc4514_string() == "CN=second"
    write_authority(tmp_path, name="third")
    await authority.refresh()
    assert signed(authority).issuer.rfc4514_string() == "CN=third"


@pytest.mark.parametrize(
    "key",
    [rsa.generate_private_key(65537, 2048), ec.generate_private_key(ec.SECP384R1())],
    ids=["RSA", "P-384"],
)
def test_openssl_accepts_a_certificate(tmp_path: Path, key: Any) -> None:
    authority = CertificateAuthority(write_authority(tmp_path, key=key))
    pem = authority.sign(read_request(make_request()), ("digital signature", "client auth"), HOUR, datetime.now(UTC))
    (tmp_path / "client.crt").write_bytes(pem)
    command = ["openssl", "verify", "-x509_strict", "-purpose", "sslclient", "-CAfile", "ca.crt", "client.crt"]

    verified = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert verified.stdout == "client.crt: OK\n", verified.stderr


async def test_a_tls_server_accepts_its_certificates_and_refuses_clients_without(tmp_path: Path) -> None:
    authority, key = CertificateAuthority(write_authority(tmp_path)), ec.generate_private_key(ec.SECP256R1())
    _write_signed(authority, tmp_path / "server.pem", key, "server auth", dns=("localhost",))
    _write_signed(authority, tmp_path / "client.pem", key, "client auth")
    server_context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=tmp_path / "ca.crt")
    server_context.load_cert_chain(tmp_path / "server.pem")
    server_context.verify_mode = ssl.CERT_REQUIRED
    accepted: list[Any] = []

    async def serve(stream: TLSStream) -> None:
        async with stream:
            accepted.append(stream.extra(anyio.streams.tls.TLSAttribute.peer_certificate))
            await stream.send(b"hello")

    tcp = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = tcp.extra(anyio.abc.SocketAttribute.local_port)
    async with TLSListener(tcp, server_context) as listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, serve)
        client_context = ssl.create_default_context(cafile=tmp_path / "ca.crt")
        with pytest.raises((anyio.EndOfStream, anyio.BrokenResourceError, ssl.SSLError)):
            await _hello(port, client_context)
        assert not accepted
        client_context.load_cert_chain(tmp_path / "client.pem")
        assert await _hello(port, client_context) == b"hello"
        tasks.cancel_scope.cancel()

    assert (("commonName", "system:node:n"),) in accepted[0]["subject"]


def _break(file: str) -> None:
    Path(file).write_text("half of a k")


def _remove(file: str) -> None:
    Path(file).unlink()


async def _hello(port: int, context: ssl.SSLContext) -> bytes:
    stream = await anyio.connect_tcp("127.0.0.1", port, ssl_context=context, tls_hostname="localhost")
    async with stream:
        return await stream.receive()


def _write_signed(
    authority: CertificateAuthority, file: Path, key: Any, usage: str, *, dns: tuple[str, ...] = ()
) -> None:
    request = read_request(make_request(pem_of_request(dns=dns, key=key)))
    certificate = authority.sign(request, ("digital signature", usage), HOUR, datetime.now(UTC))
    form = serialization.PrivateFormat.PKCS8
    file.write_bytes(certificate + key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()))
