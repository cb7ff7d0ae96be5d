"""Requests for certificates: signers, usages, names and keys at random. What is signed is read again."""

from __future__ import annotations

import base64
import ipaddress
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import NameOID

from tests.golden.seeds.parts import Draw, Operation, Step, delete

__all__ = ("Certified", "request_of", "shown")

_SIGNERS = ("kube-apiserver-client", "kube-apiserver-client-kubelet", "kubelet-serving", "legacy-unknown", "other")
_USAGES = (
    *("client auth", "server auth", "digital signature", "key encipherment", "key agreement"),
    *("any", "cert sign", "signing", "content commitment", "code signing"),
)
_OIDS = {
    "CN": NameOID.COMMON_NAME,
    "O": NameOID.ORGANIZATION_NAME,
    "OU": NameOID.ORGANIZATIONAL_UNIT_NAME,
    "C": NameOID.COUNTRY_NAME,
    "L": NameOID.LOCALITY_NAME,
    "ST": NameOID.STATE_OR_PROVINCE_NAME,
    "SERIAL": NameOID.SERIAL_NUMBER,
    "UID": NameOID.USER_ID,
}


class Certified:
    looks = ("CertificateSigningRequest",)
    controllers = ("csrapproving", "csrsigning")
    settle = 1.1
    settled = 2.5
    length = (8, 14)

    def __init__(self, draw: Draw) -> None:
        self._draw = draw

    def begin(self) -> list[Step]:
        return self.ask()[1]

    def _subject(self) -> list[list[str]]:
        draw = self._draw
        if draw.chance(0.4):
            return [["O", "system:nodes"], ["CN", draw.one(["system:node:n1", "system:node:", "n1"])]]
        parts = [["CN", draw.one(["a", "grüße", "system:masters", "a,b+c"])]] if draw.chance(0.8) else []
        for _ in range(draw.number(0, 3)):
            key = draw.one([*_OIDS])
            values = ["x", "y"] if key == "SERIAL" else ["x", "y", "system:masters", "日本"]
            parts.append([key, "DE" if key == "C" else draw.one(values)])
        return parts

    def _names(self) -> list[list[str]]:
        every = [["dns", "n1.example.com"], ["ip", "10.0.0.7"], ["email", "a@b.c"], ["uri", "spiffe://a/b"]]
        every += [["dns", "*.example.com"], ["ip", "fd00::1"]]
        return [self._draw.one(every) for _ in range(self._draw.number(0, 3))] if self._draw.chance(0.5) else []

    def ask(self) -> Operation:
        draw, letter = self._draw, self._draw.one("abc")
        usages = draw.one(
            [
                ["client auth", "digital signature"],
                ["client auth", "digital signature", "key encipherment"],
                ["server auth", "digital signature", "key encipherment"],
                [draw.one(_USAGES) for _ in range(draw.number(1, 4))],
            ]
        )
        of: dict[str, Any] = {
            "name": f"${{ns}}-{letter}",
            "signerName": f"{'example.com' if (signer := draw.one(_SIGNERS)) == 'other' else 'kubernetes.io'}/{signer}",
            "usages": list(dict.fromkeys(usages)),
            "subject": self._subject(),
            "names": self._names(),
            "key": draw.weighted([("p256", 4), ("p384", 1), ("rsa", 2), ("ed25519", 1)]),
        }
        if draw.chance(0.4):
            of["expirationSeconds"] = draw.one([600, 601, 86400, 315360000])
        return f"ask {letter} {of}", [{"ask_certificate": of}]

    def _decide(self, name: str, status: str = "True") -> list[Step]:
        condition = {"type": name, "status": status, "reason": "R", "message": "m"}
        which = f"${{ns}}-{self._draw.one('abc')}"
        subresource = "status" if name == "Failed" else "approval"
        return [{"decide": {"name": which, "condition": condition, "subresource": subresource}}]

    def approve(self) -> Operation:
        return "approve one", self._decide("Approved")

    def deny(self) -> Operation:
        return "deny one", self._decide("Denied")

    def fail(self) -> Operation:
        return "fail one", self._decide("Failed")

    def end(self) -> Operation:
        letter = self._draw.one("abc")
        return f"delete {letter}", [delete("CertificateSigningRequest", f"${{ns}}-{letter}")]

    def operations(self) -> list[tuple[Any, int]]:
        return [(self.ask, 8), (self.approve, 8), (self.deny, 1), (self.fail, 1), (self.end, 5)]


def request_of(what: dict[str, Any]) -> str:
    """A request in PEM, in base64 as the API has it."""
    key = _key(what["key"])
    subject = x509.Name([x509.NameAttribute(_OIDS[part], value) for part, value in what["subject"]])
    builder = x509.CertificateSigningRequestBuilder().subject_name(subject)
    if what["names"]:
        builder = builder.add_extension(x509.SubjectAlternativeName([_name(*each) for each in what["names"]]), False)
    signed = builder.sign(key, None if what["key"] == "ed25519" else hashes.SHA256())
    return base64.b64encode(signed.public_bytes(serialization.Encoding.PEM)).decode()


def _key(kind: str) -> Any:
    if kind == "rsa":
        return rsa.generate_private_key(65537, 2048)
    if kind == "ed25519":
        return ed25519.Ed25519PrivateKey.generate()
    return ec.generate_private_key(ec.SECP256R1() if kind == "p256" else ec.SECP384R1())


def _name(kind: str, value: str) -> x509.GeneralName:
    if kind == "ip":
        return x509.IPAddress(ipaddress.ip_address(value))
    kinds = {"dns": x509.DNSName, "email": x509.RFC822Name, "uri": x509.UniformResourceIdentifier}
    return kinds[kind](value)


def shown(request: dict[str, Any]) -> dict[str, Any]:
    """A request with what can be compared of its certificate: names, extensions, and how long it is valid."""
    spec = {**request["spec"], "request": "<request>"}
    status = dict(request.get("status", {}))
    if certificate := status.get("certificate"):
        read = x509.load_pem_x509_certificate(base64.b64decode(certificate))
        status["signed"] = {
            "subject": [f"{each.oid.dotted_string}={each.value}" for each in read.subject],
            "issuer": read.issuer.rfc4514_string(),
            "extensions": [
                f"{each.oid.dotted_string} {each.critical} {_extension(each.value)}" for each in read.extensions
            ],
            "seconds": round((read.not_valid_after_utc - read.not_valid_before_utc).total_seconds(), -1),
            "key": type(read.public_key()).__name__,
            "version": read.version.name,
        }
    return {**request, "spec": spec, "status": status}


def _extension(value: x509.ExtensionType) -> str:
    # The hash of the request's key is another one each time.
    return "" if isinstance(value, x509.SubjectKeyIdentifier | x509.AuthorityKeyIdentifier) else repr(value)
