"""Certificates of webhooks: from files that are read again when they change, or created and renewed by the operator.

:class:`CertificateFiles` reads files, such as those of cert-manager. :class:`ClusterCertificate` creates a certificate
authority and a certificate, and keeps both in a Secret that all replicas share. The webhook configurations have the
authority's certificate as their ``caBundle``. A replica that renews the authority also writes it there. The old
authority stays beside the new one for some time, so that API servers can verify all certificates that are still in use.
"""

from __future__ import annotations

import base64
import ssl
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final, Protocol

from kinformer.certificates import (
    CertificatesUnavailable,
    KeyPair,
    first_of,
    is_signed_by,
    make_authority,
    make_certificate,
    names_of,
    validity_of,
)
from kinformer.client import AlreadyExists, Client, ClientError, Conflict, NotFound
from kinformer.client.tls import load_identity
from kinformer.clock import Clock, RealClock
from kinformer.logs import get_logger
from kinformer.manager.serving.certificates import CertificateError, ServingCertificate
from kinformer.manager.serving.tls import ServerTls
from kinformer.models import V1ObjectMeta, V1Secret

__all__ = ("Certificate", "CertificateError", "CertificateFiles", "ClusterCertificate", "service_hosts")

log = get_logger(__name__)

#: The share of its life after which a certificate is renewed.
_RENEWED_AFTER: Final = 2 / 3

#: Seconds after which the Secret is read again.
_LOOK_EVERY: Final = 60.0

_TRIES: Final = 5


class Certificate(Protocol):
    """The serving certificate of a webhook server."""

    async def context(self) -> ssl.SSLContext:
        """
        The context to listen with. It is always the same object.

        :raises CertificateError: if there is no usable certificate
        """

    async def authorities(self) -> bytes:
        """
        The certificates of the authorities that API servers have to trust, in PEM. Empty: those that they trust anyway.

        :raises CertificateError: if there is no usable certificate
        :raises ClientError: if they cannot be read from the cluster
        """

    async def run(self) -> None:
        """Keep the context up to date until cancelled."""


class CertificateFiles:
    """
    A certificate and its key in files, which are read again when they change.

    :param cert_file: the certificate and its intermediate certificates, in PEM
    :param key_file: the private key, in PEM, without a passphrase
    :param authorities_file: the certificates of the authorities, in PEM. There may be no such file
    :param tls: the other settings of TLS, such as the authorities of clients
    """

    def __init__(
        self,
        cert_file: Path,
        key_file: Path,
        authorities_file: Path | None = None,
        *,
        tls: ServerTls | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._serving = ServingCertificate(
            cert_file=cert_file, key_file=key_file, tls=tls or ServerTls(), clock=clock or RealClock()
        )
        self._authorities_file = authorities_file

    async def context(self) -> ssl.SSLContext:
        """
        The context to listen with. It is always the same object.

        :raises CertificateError: if a file cannot be read, or the certificate and the key do not match
        """
        return self._serving.context()

    async def authorities(self) -> bytes:
        """
        The authorities in their file; empty if there is no such file.

        :raises CertificateError: if the file cannot be read
        """
        if self._authorities_file is None:
            return b""
        try:
            return self._authorities_file.read_bytes()
        except FileNotFoundError:
            return b""
        except OSError as error:
            raise CertificateError(f"{self._authorities_file}: {error.strerror or error}") from error

    async def run(self) -> None:
        """Read the files again when they have changed, until cancelled."""
        await self._serving.run()


def service_hosts(service: str, namespace: str) -> tuple[str, ...]:
    """The host names that API servers use for a Service."""
    return f"{service}.{namespace}.svc", f"{service}.{namespace}.svc.cluster.local", f"{service}.{namespace}"


@dataclass(frozen=True, slots=True)
class _Pair:
    """A certificate with its key, and the period in which it is valid."""

    pair: KeyPair
    since: datetime
    until: datetime

    def is_due(self, now: datetime) -> bool:
        return now >= self.since + (self.until - self.since) * _RENEWED_AFTER


class ClusterCertificate:
    """
    A certificate that all replicas of an operator share. They create and renew it, and keep it in a Secret.

    By default, each replica renews and publishes. With a leader election, only the leader does, and the others load its
    certificates. A replica that starts without any certificate creates one in either case. A new authority is published
    before it signs a certificate that a replica serves.

    :param client: for the Secret
    :param secret: the namespace and the name of the Secret, of type ``kubernetes.io/tls``. It is created if it does not
        exist
    :param hosts: the host names and addresses that the certificate is for, as :func:`service_hosts` returns them
    :param publish: is called with the certificates of the authorities, in PEM, whenever they change. It has to write
        them to the webhook configurations
    :param leads: whether this replica renews and publishes now
    :param clock: for times
    """

    def __init__(
        self,
        client: Client,
        secret: tuple[str, str],
        hosts: Sequence[str],
        publish: Callable[[bytes], Awaitable[None]],
        *,
        leads: Callable[[], bool] = lambda: True,
        clock: Clock | None = None,
    ) -> None:
        self._secrets = client.resource(V1Secret)
        self._namespace, self._name = secret
        self._where = f"the Secret {self._namespace}/{self._name}"
        self._hosts = tuple(hosts)
        self._publish = publish
        self._leads = leads
        self._clock = clock or RealClock()
        self._context: ssl.SSLContext | None = None
        self._shown = b""
        self._authorities = b""
        self._published = b""

    async def context(self) -> ssl.SSLContext:
        """
        The context to listen with. It is always the same object.

        :raises CertificateError: if the package `cryptography` is not installed, or the Secret has no valid certificate
        :raises ClientError: if the Secret cannot be read or written
        """
        if self._context is None:
            await self.refresh()
        assert self._context is not None
        return self._context

    async def authorities(self) -> bytes:
        """
        The certificates of the authorities, in PEM.

        :raises CertificateError: as :meth:`context`
        :raises ClientError: as :meth:`context`
        """
        await self.context()
        return self._authorities

    async def run(self) -> None:
        """
        Renew the certificates when it is time to, and load those that another replica has renewed, until cancelled.
        """
        while True:
            await self._clock.sleep(_LOOK_EVERY)
            try:
                await self.refresh()
            except (ClientError, CertificateError) as error:
                # The certificate in use is valid for months, so it is enough to try again later.
                log.warning("webhook_certificate_not_refreshed", error=str(error))

    async def refresh(self) -> None:
        """
        Read the Secret, renew its certificates if it is time to, publish the authorities and load the certificate.

        :raises CertificateError: as :meth:`context`
        :raises ClientError: as :meth:`context`
        """
        data = await self._settled()
        await self._make_known(data)
        certificate, key = data["tls.crt"], data["tls.key"]
        self._authorities = data["ca.crt"]
        if certificate + key != self._shown:
            self._show(certificate + b"\n" + key)
            self._shown = certificate + key

    async def _make_known(self, data: dict[str, bytes]) -> None:
        authorities = data["ca.crt"]
        if self._leads() and authorities != self._published:
            await self._publish(authorities)
            self._published = authorities

    def _show(self, pem: bytes) -> None:
        context = self._context or ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        try:
            load_identity(context, pem)
        except ValueError as error:
            raise CertificateError(f"{self._where} holds no certificate with its key: {error}") from error
        self._context = context

    async def _settled(self) -> dict[str, bytes]:
        """The data of the Secret, after the renewal of what is due."""
        for _ in range(_TRIES):
            try:
                secret = await self._secrets.get(self._name, self._namespace)
            except NotFound:
                secret = None
            held = _data_of(secret)
            try:
                data = _renewed(held, self._hosts, self._clock.now())
            except CertificatesUnavailable as error:
                raise CertificateError(f"{error}, or give files") from error
            if data == held:
                return data
            if not self._leads() and self._context is not None:
                if held.keys() < data.keys():
                    raise CertificateError(f"{self._where} holds no certificates, until the leader has made new ones")
                return held
            if held.get("ca.crt"):
                # Publish before the write: after it, other replicas may load a certificate of the new authority.
                await self._make_known(data)
            try:
                await self._write(secret, data)
            except (AlreadyExists, Conflict):
                continue  # another replica has written the Secret: use its certificates
            log.info("webhook_certificate_renewed", secret=f"{self._namespace}/{self._name}")
            return data
        raise CertificateError(f"{self._where} is written by others all the time")

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
    """The data that the Secret should have. It differs from `held` only if something is missing or due."""
    authority = _pair(held.get("ca.crt", b""), held.get("ca.key", b""))
    certificate = _pair(held.get("tls.crt", b""), held.get("tls.key", b""))
    if authority is None or authority.is_due(now):
        # The name has the time, so that the old and the new authority have different names.
        made = make_authority(f"webhook-ca@{int(now.timestamp())}", now)
        # The old authority is needed to verify the old certificate, until all replicas use the new one.
        before = authority.pair.certificate if authority is not None and authority.until > now else b""
        authority, bundle, certificate = _read(made), made.certificate + before, None
    else:
        bundle = held["ca.crt"]
    if certificate is None or certificate.is_due(now) or not _is_for(certificate, hosts, authority):
        certificate = _read(make_certificate(hosts[0], now, authority=authority.pair, hosts=hosts))
    return {
        "ca.crt": bundle,
        "ca.key": authority.pair.key,
        "tls.crt": certificate.pair.certificate,
        "tls.key": certificate.pair.key,
    }


def _pair(certificates: bytes, key: bytes) -> _Pair | None:
    if not certificates or not key:
        return None
    try:
        return _read(KeyPair(first_of(certificates), key))
    except ValueError:
        return None


def _read(pair: KeyPair) -> _Pair:
    since, until = validity_of(pair.certificate)
    return _Pair(pair, since, until)


def _is_for(pair: _Pair, hosts: tuple[str, ...], authority: _Pair) -> bool:
    """Whether a certificate is for these hosts, and signed by that authority."""
    certificate = pair.pair.certificate
    return is_signed_by(certificate, authority.pair.certificate) and names_of(certificate) == set(hosts)
