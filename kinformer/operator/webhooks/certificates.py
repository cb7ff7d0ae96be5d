"""Certificates of webhooks: from files that are read again when they change, or made and renewed in the cluster.

*Files* are what cert-manager and its kin write: :class:`CertificateFiles`. *In the cluster*,
:class:`ClusterCertificate` makes an authority and a certificate, and keeps both in a Secret that all replicas share.
The authority is what the configurations of the webhooks name as their ``caBundle``. Whoever renews it writes it there.
The old one stays beside the new one, so that no API server meets a certificate that it cannot check.
"""

from __future__ import annotations

import base64
import ssl
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final, Protocol

from kinformer.client import AlreadyExists, Client, ClientError, Conflict, NotFound
from kinformer.client.tls import pem_file
from kinformer.clock import Clock, RealClock
from kinformer.logs import get_logger
from kinformer.manager.serving.certificates import CertificateError, ServingCertificate
from kinformer.models import V1ObjectMeta, V1Secret

__all__ = ("Certificate", "CertificateError", "CertificateFiles", "ClusterCertificate", "service_hosts")

log = get_logger(__name__)

#: How long what is made here is good for, and after how much of that it is made anew.
_AUTHORITY_LIFE: Final = timedelta(days=3650)
_LIFE: Final = timedelta(days=365)
_RENEWED_AFTER: Final = 2 / 3

#: Seconds between two looks at the Secret.
_LOOK_EVERY: Final = 60.0

_TRIES: Final = 5


class Certificate(Protocol):
    """What a server shows its clients."""

    async def context(self) -> ssl.SSLContext:
        """
        The context to listen with, always the same.

        :raises CertificateError: if there is none
        """

    async def run(self) -> None:
        """Keep the context up to date until cancelled."""


class CertificateFiles:
    """
    A certificate and its key in files, which are read again when they change.

    :param cert_file: the certificate, and those between it and its authority, in PEM
    :param key_file: its key, in PEM, without a passphrase
    """

    def __init__(self, cert_file: Path, key_file: Path, *, clock: Clock | None = None) -> None:
        self._serving = ServingCertificate(cert_file=cert_file, key_file=key_file, clock=clock or RealClock())

    async def context(self) -> ssl.SSLContext:
        """
        :raises CertificateError: if a file cannot be read, or the two do not fit together
        """
        return self._serving.context()

    async def run(self) -> None:
        """Look at the files again and again, until cancelled."""
        await self._serving.run()


def service_hosts(service: str, namespace: str) -> tuple[str, ...]:
    """The names by which API servers call a Service."""
    return f"{service}.{namespace}.svc", f"{service}.{namespace}.svc.cluster.local", f"{service}.{namespace}"


@dataclass(frozen=True, slots=True)
class _Pair:
    """A certificate and its key in PEM; of the certificate, how long it is good."""

    certificate: bytes
    key: bytes
    since: datetime
    until: datetime

    def is_due(self, now: datetime) -> bool:
        return now >= self.since + (self.until - self.since) * _RENEWED_AFTER


class ClusterCertificate:
    """
    A certificate that replicas make, keep in a Secret and renew together.

    :param secret: ``(namespace, name)`` of the Secret, of type ``kubernetes.io/tls``; it is made if it is not there
    :param hosts: the names and addresses that the certificate is for: :func:`service_hosts`
    :param publish: is given the authorities, in PEM, whenever they change: writes them where API servers look
    """

    def __init__(
        self,
        client: Client,
        secret: tuple[str, str],
        hosts: Sequence[str],
        publish: Callable[[bytes], Awaitable[None]],
        *,
        clock: Clock | None = None,
    ) -> None:
        self._secrets = client.resource(V1Secret)
        self._namespace, self._name = secret
        self._hosts = tuple(hosts)
        self._publish = publish
        self._clock = clock or RealClock()
        self._context: ssl.SSLContext | None = None
        self._shown = b""
        self._published = b""

    async def context(self) -> ssl.SSLContext:
        """
        :raises CertificateError: if the package `cryptography` is not installed, or the Secret holds something else
        :raises ClientError: if the Secret cannot be read or written
        """
        if self._context is None:
            await self.refresh()
        assert self._context is not None
        return self._context

    async def run(self) -> None:
        """Renew what is due, and show what another replica has renewed, until cancelled."""
        while True:
            await self._clock.sleep(_LOOK_EVERY)
            try:
                await self.refresh()
            except (ClientError, CertificateError) as error:
                # What is shown is good for months: it is tried again.
                log.warning("webhook_certificate_not_refreshed", error=str(error))

    async def refresh(self) -> None:
        """
        Read the Secret, renew what is due, publish the authorities and show the certificate.

        :raises CertificateError: as :meth:`context`
        :raises ClientError: as :meth:`context`
        """
        data = await self._settled()
        authorities, certificate, key = data["ca.crt"], data["tls.crt"], data["tls.key"]
        if authorities != self._published:
            await self._publish(authorities)
            self._published = authorities
        if certificate + key != self._shown:
            self._show(certificate + b"\n" + key)
            self._shown = certificate + key

    def _show(self, pem: bytes) -> None:
        context = self._context or ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        try:
            with pem_file(pem) as path:
                context.load_cert_chain(path, password="")
        except (OSError, ValueError) as error:
            where = f"the Secret {self._namespace}/{self._name}"
            raise CertificateError(f"{where} holds no certificate with its key: {error}") from error
        self._context = context

    async def _settled(self) -> dict[str, bytes]:
        """What the Secret holds, once nothing of it is due."""
        for _ in range(_TRIES):
            try:
                secret = await self._secrets.get(self._name, self._namespace)
            except NotFound:
                secret = None
            held = _data_of(secret)
            data = _renewed(held, self._hosts, self._clock.now())
            if data == held:
                return data
            try:
                await self._write(secret, data)
            except (AlreadyExists, Conflict):
                continue  # another replica was quicker: what it wrote will do
            log.info("webhook_certificate_renewed", secret=f"{self._namespace}/{self._name}")
            return data
        raise CertificateError(f"the Secret {self._namespace}/{self._name} is written by others all the time")

    async def _write(self, secret: V1Secret | None, data: dict[str, bytes]) -> None:
        encoded = {name: base64.b64encode(value).decode() for name, value in data.items()}
        if secret is None:
            meta = V1ObjectMeta(name=self._name, namespace=self._namespace)
            await self._secrets.create(V1Secret(metadata=meta, type="kubernetes.io/tls", data=encoded))
        else:
            secret.data = {**(secret.data or {}), **encoded}
            await self._secrets.update(secret)


def _data_of(secret: V1Secret | None) -> dict[str, bytes]:
    data = (secret.data if secret is not None else None) or {}
    wanted = ("ca.crt", "ca.key", "tls.crt", "tls.key")
    return {name: base64.b64decode(data[name]) for name in wanted if data.get(name)}


def _renewed(held: dict[str, bytes], hosts: tuple[str, ...], now: datetime) -> dict[str, bytes]:
    """What is to be held: what is held, as long as nothing of it is missing or due."""
    authority = _pair(held.get("ca.crt", b""), held.get("ca.key", b""))
    certificate = _pair(held.get("tls.crt", b""), held.get("tls.key", b""))
    if authority is None or authority.is_due(now):
        made = _make_authority(now)
        # The old one vouches for the certificate that replicas show until they have seen the new one.
        before = authority.certificate if authority is not None and authority.until > now else b""
        authority, bundle, certificate = made, made.certificate + before, None
    else:
        bundle = held["ca.crt"]
    if certificate is None or certificate.is_due(now) or not _is_for(certificate, hosts, authority):
        certificate = _make_certificate(authority, hosts, now)
    return {
        "ca.crt": bundle,
        "ca.key": authority.key,
        "tls.crt": certificate.certificate,
        "tls.key": certificate.key,
    }


# -- with the package `cryptography` ---------------------------------------------------------------------------------


def _crypto() -> Any:
    try:
        import cryptography.x509 as x509
    except ImportError as error:
        raise CertificateError(
            "certificates are made with the package `cryptography`: pip install 'kinformer[tls]', or give files"
        ) from error
    return x509


def _pair(certificate: bytes, key: bytes) -> _Pair | None:
    if not certificate or not key:
        return None
    try:
        first = _crypto().load_pem_x509_certificates(certificate)[0]
    except (ValueError, IndexError):
        return None
    from cryptography.hazmat.primitives.serialization import Encoding

    return _Pair(first.public_bytes(Encoding.PEM), key, first.not_valid_before_utc, first.not_valid_after_utc)


def _is_for(pair: _Pair, hosts: tuple[str, ...], authority: _Pair) -> bool:
    """Whether a certificate is for these hosts, and of that authority."""
    x509 = _crypto()
    certificate = x509.load_pem_x509_certificate(pair.certificate)
    try:
        certificate.verify_directly_issued_by(x509.load_pem_x509_certificate(authority.certificate))
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except Exception:  # whatever is wrong with it, it is made anew
        return False
    return {str(name.value) for name in names} == set(hosts)


def _make_authority(now: datetime) -> _Pair:
    x509 = _crypto()
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    # The time is in its name, so that an old and a new one are told apart.
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, f"webhook-ca@{int(now.timestamp())}")])
    builder = _builder(x509, name, name, key.public_key(), key.public_key(), now, _AUTHORITY_LIFE)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    return _signed(builder.add_extension(_usage(x509, signs=True), critical=True), key, key)


def _make_certificate(authority: _Pair, hosts: tuple[str, ...], now: datetime) -> _Pair:
    x509 = _crypto()
    import ipaddress

    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    key = ec.generate_private_key(ec.SECP256R1())
    authority_key: Any = load_pem_private_key(authority.key, None)
    issuer = x509.load_pem_x509_certificate(authority.certificate).subject
    # A common name has 64 characters at most; who checks it looks at the names below.
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, hosts[0][:64])])
    names: list[Any] = []
    for host in hosts:
        try:
            names.append(x509.IPAddress(ipaddress.ip_address(host)))
        except ValueError:
            names.append(x509.DNSName(host))
    builder = _builder(x509, subject, issuer, key.public_key(), authority_key.public_key(), now, _LIFE)
    builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    builder = builder.add_extension(_usage(x509, signs=False), critical=True)
    server = x509.oid.ExtendedKeyUsageOID.SERVER_AUTH
    builder = builder.add_extension(x509.ExtendedKeyUsage([server]), critical=False)
    return _signed(builder.add_extension(x509.SubjectAlternativeName(names), critical=False), authority_key, key)


def _builder(x509: Any, subject: Any, issuer: Any, key: Any, issuers_key: Any, now: datetime, life: timedelta) -> Any:
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key)
    builder = builder.serial_number(x509.random_serial_number())
    builder = builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    issuers = x509.AuthorityKeyIdentifier.from_issuer_public_key(issuers_key)
    # Some machines' clocks are a little behind.
    return (
        builder.add_extension(issuers, critical=False)
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + life)
    )


def _usage(x509: Any, *, signs: bool) -> Any:
    return x509.KeyUsage(
        digital_signature=not signs,
        key_cert_sign=signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )


def _signed(builder: Any, signing_key: Any, key: Any) -> _Pair:
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    made = builder.sign(signing_key, hashes.SHA256())
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return _Pair(made.public_bytes(Encoding.PEM), private, made.not_valid_before_utc, made.not_valid_after_utc)
