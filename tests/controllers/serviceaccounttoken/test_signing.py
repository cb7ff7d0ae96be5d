"""Tokens are signed so that others who never heard of this code find them right."""

from __future__ import annotations

import base64
import hashlib
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from jwcrypto import jwk, jwt

from kinformer.models import V1ObjectMeta, V1ServiceAccount
from kinformer.options import OptionError
from kinformer_controllers.serviceaccounttoken.tokens import TokenSigner, load_signer

BOT = V1ServiceAccount(metadata=V1ObjectMeta(name="bot", namespace="ns", uid="uid-bot"))
CLAIMS = {
    "iss": "kubernetes/serviceaccount",
    "kubernetes.io/serviceaccount/namespace": "ns",
    "kubernetes.io/serviceaccount/secret.name": "t",
    "kubernetes.io/serviceaccount/service-account.name": "bot",
    "kubernetes.io/serviceaccount/service-account.uid": "uid-bot",
    "sub": "system:serviceaccount:ns:bot",
}
KEYS = {
    "RS256": lambda: rsa.generate_private_key(65537, 2048),
    "ES256": lambda: ec.generate_private_key(ec.SECP256R1()),
    "ES384": lambda: ec.generate_private_key(ec.SECP384R1()),
    "ES512": lambda: ec.generate_private_key(ec.SECP521R1()),
}


def pem(key: Any, form: Any = serialization.PrivateFormat.PKCS8) -> bytes:
    encoded: bytes = key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
    return encoded


def public_pem(key: Any) -> bytes:
    encoded: bytes = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return encoded


def decoded(part: str) -> bytes:
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


@pytest.mark.parametrize("algorithm", KEYS)
def test_another_library_accepts_a_token(algorithm: str) -> None:
    key = KEYS[algorithm]()

    token = TokenSigner(pem(key)).token(BOT, "t")

    read = jwt.JWT(jwt=token, key=jwk.JWK.from_pem(public_pem(key)), algs=[algorithm])
    assert json.loads(read.claims) == CLAIMS


def test_the_header_names_the_algorithm_and_the_key_and_nothing_else() -> None:
    key = KEYS["RS256"]()

    header = json.loads(decoded(TokenSigner(pem(key)).token(BOT, "t").split(".")[0]))

    der = key.public_key().public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    key_id = base64.urlsafe_b64encode(hashlib.sha256(der).digest()).decode().rstrip("=")
    assert header == {"alg": "RS256", "kid": key_id}


@pytest.mark.parametrize("algorithm", ["RS256", "ES256"])
def test_openssl_finds_the_signature_right_and_a_changed_token_wrong(algorithm: str, tmp_path: Path) -> None:
    key = KEYS[algorithm]()
    signed, _, signature = TokenSigner(pem(key)).token(BOT, "t").rpartition(".")
    raw = decoded(signature)
    if algorithm == "ES256":
        raw = encode_dss_signature(int.from_bytes(raw[:32]), int.from_bytes(raw[32:]))
    (tmp_path / "key.pem").write_bytes(public_pem(key))
    (tmp_path / "signature").write_bytes(raw)
    command = ["openssl", "dgst", "-sha256", "-verify", "key.pem", "-signature", "signature"]

    good = subprocess.run(command, cwd=tmp_path, input=signed.encode(), capture_output=True, check=False)
    bad = subprocess.run(command, cwd=tmp_path, input=signed.encode() + b"x", capture_output=True, check=False)

    assert good.stdout == b"Verified OK\n"
    assert bad.returncode == 1


@pytest.mark.parametrize("form", [serialization.PrivateFormat.PKCS8, serialization.PrivateFormat.TraditionalOpenSSL])
def test_keys_are_read_in_either_form_of_pem(form: Any) -> None:
    assert TokenSigner(pem(KEYS["ES256"](), form)).token(BOT, "t")


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"hello", "."),
        (pem(ed25519.Ed25519PrivateKey.generate()), "it is a .*: want an RSA or ECDSA key"),
        (pem(ec.generate_private_key(ec.SECP256K1())), "its curve is secp256k1: want one of secp256r1"),
    ],
    ids=["no key", "another kind", "another curve"],
)
def test_a_file_without_a_key_that_signs_tokens_is_refused_by_name(content: bytes, why: str, tmp_path: Path) -> None:
    file = tmp_path / "sa.key"
    file.write_bytes(content)

    with pytest.raises(OptionError, match=f"--service-account-private-key-file {file}: {why}"):
        load_signer(str(file))


def test_a_missing_file_and_an_encrypted_key_are_refused_by_name(tmp_path: Path) -> None:
    file = tmp_path / "sa.key"
    locked = serialization.BestAvailableEncryption(b"secret")
    key = KEYS["ES256"]()
    file.write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, locked))

    with pytest.raises(OptionError, match=f"--service-account-private-key-file {file}: Password"):
        load_signer(str(file))
    with pytest.raises(OptionError, match="--service-account-private-key-file /nowhere: No such file"):
        load_signer("/nowhere")
