"""Certificates that are made here are what OpenSSL and the API's clients take for good ones."""

from __future__ import annotations

import ssl
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from kinformer.certificates import (
    AUTHORITY_LIFE,
    LIFE,
    CertificatesUnavailable,
    KeyPair,
    first_of,
    is_signed_by,
    load_private_key,
    make_authority,
    make_certificate,
    names_of,
    validity_of,
)

NOW = datetime.now(UTC).replace(microsecond=0)


def shake_hands(server: KeyPair, trusted: bytes, name: str, folder: Path) -> None:
    """
    :raises ssl.SSLError: if a client that trusts these does not take the server for that name
    """
    (folder / "server.pem").write_bytes(server.certificate + server.key)
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(folder / "server.pem")
    asking = ssl.create_default_context(cadata=trusted.decode())
    asking.verify_flags |= ssl.VERIFY_X509_STRICT  # as Python does from 3.13 on
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = asking.wrap_bio(to_client, to_server, server_hostname=name)
    host = serving.wrap_bio(to_server, to_client, server_side=True)
    for _ in range(4):
        for side in (client, host):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue


@pytest.mark.parametrize("name", ["web.default.svc", "127.0.0.1", "::1"])
def test_a_server_is_trusted_under_each_of_its_names(name: str, tmp_path: Path) -> None:
    authority = make_authority("ca", NOW)
    server = make_certificate("web", NOW, authority=authority, hosts=("web.default.svc", "127.0.0.1", "::1"))

    shake_hands(server, authority.certificate, name, tmp_path)
    with pytest.raises(ssl.SSLCertVerificationError, match=r"doesn't match|mismatch"):
        shake_hands(server, authority.certificate, "other.default.svc", tmp_path)
    with pytest.raises(ssl.SSLCertVerificationError):
        shake_hands(server, make_authority("ca", NOW).certificate, name, tmp_path)


def test_a_self_signed_certificate_is_trusted_by_those_who_have_it(tmp_path: Path) -> None:
    server = make_certificate("web", NOW, authority=None, hosts=["localhost"])

    shake_hands(server, server.certificate, "localhost", tmp_path)
    assert is_signed_by(server.certificate, server.certificate)


def test_what_was_made_can_be_read_again() -> None:
    authority = make_authority("ca", NOW)
    server = make_certificate("web" * 30, NOW, authority=authority, hosts=["a.example", "127.0.0.1", "a.example"])
    client = make_certificate("jane", NOW, authority=authority, organizations=["dev"])

    assert validity_of(authority.certificate) == (NOW - timedelta(hours=1), NOW + AUTHORITY_LIFE)
    assert validity_of(server.certificate) == (NOW - timedelta(hours=1), NOW + LIFE)
    assert names_of(server.certificate) == {"a.example", "127.0.0.1"}
    assert names_of(client.certificate) == frozenset()
    assert is_signed_by(server.certificate, authority.certificate)
    assert not is_signed_by(server.certificate, make_authority("ca", NOW).certificate)
    assert not is_signed_by(server.certificate, make_authority("another", NOW).certificate)
    assert first_of(server.certificate + authority.certificate) == server.certificate


def test_the_name_of_a_user_is_never_cut() -> None:
    authority = make_authority("ca", NOW)
    make_certificate("u" * 64, NOW, authority=authority)

    with pytest.raises(ValueError, match=r"at most 64 characters, but 'u+' has 65"):
        make_certificate("u" * 65, NOW, authority=authority)


def test_what_is_no_certificate_is_a_value_error() -> None:
    with pytest.raises(ValueError, match=r"PEM|certificate"):
        validity_of(b"nothing")
    assert not is_signed_by(b"nothing", make_authority("ca", NOW).certificate)


@pytest.mark.parametrize("part", ["p", "d"])
def test_an_rsa_key_whose_numbers_do_not_belong_together_is_refused(part: str) -> None:
    good = rsa.generate_private_key(65537, 2048)
    its = good.private_numbers()
    numbers = {name: getattr(its, name) for name in ("p", "q", "d", "dmp1", "dmq1", "iqmp")}
    numbers[part] += 2
    broken = rsa.RSAPrivateNumbers(**numbers, public_numbers=its.public_numbers)

    assert load_private_key(pem(good)).private_numbers() == its
    with pytest.raises(ValueError, match=r"p\*q must equal|its private exponent is not"):
        load_private_key(pem(broken.private_key(unsafe_skip_rsa_key_validation=True)))


def pem(key: rsa.RSAPrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def test_without_the_package_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "cryptography"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "cryptography", None)

    with pytest.raises(CertificatesUnavailable, match=r"pip install 'kinformer\[tls\]'"):
        make_authority("ca", NOW)
