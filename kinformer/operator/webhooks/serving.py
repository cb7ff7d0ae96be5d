"""Serving: the webhooks that a manager's controllers declare, served and registered by the manager.

``Manager(…, webhooks=WebhookServing(service=("shops", "shop-webhooks")))`` and ``kinformer manager --webhook-service``
do this. All webhooks of a process share one server and one certificate. Every replica serves, so followers answer as
well. The leader registers: it applies the webhook configurations, and the conversions of the custom resources. It does
so when it begins to lead, and when the authorities change. It repeats this every few minutes, so a configuration that
somebody deletes is restored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from kinformer.backoff import Backoff
from kinformer.client import Client, ClientError
from kinformer.logs import get_logger
from kinformer.manager import ControllerContext
from kinformer.manager.inspection.rates import quantile
from kinformer.manager.inspection.views import WebhookView
from kinformer.manager.serving.certificates import is_loopback
from kinformer.meta import GroupKind
from kinformer.models import resource_for
from kinformer.operator.webhooks.certificates import (
    Certificate,
    CertificateError,
    CertificateFiles,
    ClusterCertificate,
    service_hosts,
)
from kinformer.operator.webhooks.configurations import CONFIGURATIONS, Address, Registration
from kinformer.operator.webhooks.hooks import Webhooks
from kinformer.operator.webhooks.reviews import ConversionRequest, RawRequest
from kinformer.operator.webhooks.server import CONVERT_PATH, WebhookServer
from kinformer.options import OptionError
from kinformer.permissions import Rule, allow

__all__ = ("WebhookServing",)

log = get_logger(__name__)

#: Seconds after which the authorities are read again, and seconds after which everything is applied again.
_LOOK_EVERY, _APPLY_EVERY = 30.0, 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookServing:
    """
    How a manager serves the webhooks of its controllers.

    API servers reach it through `service`, or at `url`. If neither is given, `host` must be a loopback address, and the
    URL is that of the server itself. This is for tests and for an API server on this machine.

    :param host: the address to listen on
    :param port: the port to listen on; 0 for any free port
    :param service: the namespace and the name of the Service
    :param service_port: the port of the Service
    :param url: ``https://host:port``, for a manager outside the cluster
    :param secret: the namespace and the name of the Secret for the certificate that the manager makes. By default it is
        in the Service's namespace, with ``-certificate`` after the Service's name
    :param cert_dir: a folder with ``tls.crt`` and ``tls.key``, which are read again when they change, and perhaps
        ``ca.crt``, the authorities for API servers to trust. The manager then makes no certificate
    :param inject_ca_from: the namespace and the name of cert-manager's Certificate, as ``NAMESPACE/NAME``. cert-manager
        then tells API servers which authority to trust
    :param registers: whether the leader registers the webhooks; if not, somebody else has to
    """

    host: str = "0.0.0.0"  # API servers are on other machines
    port: int = 9443
    service: tuple[str, str] | None = None
    service_port: int = 443
    url: str = ""
    secret: tuple[str, str] | None = None
    cert_dir: Path | None = None
    inject_ca_from: str = ""
    registers: bool = True

    @property
    def certificate_secret(self) -> tuple[str, str] | None:
        """The namespace and the name of the Secret in use; None with files."""
        if self.cert_dir is not None:
            return None
        if self.secret is not None:
            return self.secret
        if self.service is not None:
            namespace, name = self.service
            return namespace, f"{name}-certificate"
        return "default", "kinformer-webhooks-certificate"

    def serve(self, declared: Sequence[Any], context: ControllerContext, client: Client) -> _Served:
        """
        Make what serves webhooks. A manager calls this.

        :param declared: the :class:`Webhooks` of the controllers
        :param context: what functions get as ``request.context``
        :param client: for the Secret
        :raises OptionError: if API servers would not know where the webhooks are, or two functions have one path
        """
        self.check()
        return _Served(self, _checked(declared), context, client)

    def check(self) -> None:
        """
        Check the settings.

        :raises OptionError: if API servers would not know where the webhooks are
        """
        if self.service is not None or self.url:
            try:
                Address(service=self.service, url=self.url)
            except ValueError as error:
                raise OptionError(str(error)) from None
        elif not is_loopback(self.host):
            raise OptionError(
                "API servers do not know where the webhooks are: want --webhook-service NAMESPACE/NAME, or "
                "--webhook-url"
            )

    def rules(self, declared: Sequence[Any]) -> tuple[Rule, ...]:
        """The permissions that serving and registering these :class:`Webhooks` needs."""
        webhooks = _checked(declared)
        rules: list[Rule] = []
        if (secret := self.certificate_secret) is not None:
            namespace, name = secret
            rules.append(allow("get update", "secrets", names=(name,), namespace=namespace))
            # RBAC cannot limit "create" by name.
            rules.append(allow("create", "secrets", namespace=namespace))
        if not self.registers:
            return tuple(rules)
        for mutates, type_ in CONFIGURATIONS.items():
            resource = str(resource_for(type_).gvr.group_resource)
            names = [one.name for one in webhooks if any(hook.mutates is mutates for hook in one.hooks.values())]
            if names:
                rules += allow("get patch", resource, names=names), allow("create", resource)
        if crds := _converted_by(webhooks):
            rules.append(allow("get patch", "customresourcedefinitions.apiextensions.k8s.io", names=crds))
        return tuple(rules)


class _Answers:
    """The webhooks of several controllers, behind one server."""

    def __init__(self, webhooks: Sequence[Webhooks], context: ControllerContext) -> None:
        self._context = context
        self._by_path: dict[str, Webhooks] = {}
        for one in webhooks:
            for path in one.paths:
                if path in self._by_path:
                    raise OptionError(f"two webhooks have the path {path}: give one of them another, with path=")
                self._by_path[path] = one
        self._converting = {resource_for(type_).gvk.group_kind: one for one in webhooks for type_ in one.converted}
        self._any = webhooks[0]

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(self._by_path)

    @property
    def converts(self) -> bool:
        return bool(self._converting)

    async def answer_admission(self, path: str, asked: RawRequest, seconds: float = 0.0) -> bytes:
        return await self._by_path[path].answer_admission(path, asked, seconds, self._context)

    def answer_conversion(self, asked: ConversionRequest) -> bytes:
        # All objects of a review are of one kind. If no webhooks convert this kind, any of them answer with an error.
        first = asked.objects[0] if asked.objects else {}
        kind = GroupKind(str(first.get("apiVersion")).rpartition("/")[0], str(first.get("kind")))
        return self._converting.get(kind, self._any).answer_conversion(asked)


class _Served:
    """Serves and registers the webhooks of one manager."""

    def __init__(
        self, settings: WebhookServing, webhooks: Sequence[Webhooks], context: ControllerContext, client: Client
    ) -> None:
        self._settings = settings
        self._webhooks = webhooks
        self._clock = clock = context.clock
        #: The client of the leader, while this process leads.
        self._leader: Client | None = None
        self._trouble = ""
        self._registering = self._registered = False
        self._certificate = self._make_certificate(client)
        self.server = WebhookServer(
            _Answers(webhooks, context),
            self._certificate,
            host=settings.host,
            port=settings.port,
            trouble=self._wrong,
            clock=clock,
        )

    def _make_certificate(self, client: Client) -> Certificate:
        settings = self._settings
        if settings.cert_dir is not None:
            files = (settings.cert_dir / name for name in ("tls.crt", "tls.key", "ca.crt"))
            return CertificateFiles(*files, clock=self._clock)
        if settings.service is not None:
            namespace, service = settings.service
            hosts = service_hosts(service, namespace)
        else:
            hosts = (urlsplit(settings.url).hostname or settings.host,)
        secret = settings.certificate_secret
        assert secret is not None
        return ClusterCertificate(
            client, secret, hosts, self._publish, leads=lambda: self._leader is not None, clock=self._clock
        )

    async def run(self) -> None:
        """Serve until cancelled."""
        await self.server.run()

    async def register(self, client: Client) -> None:
        """Keep the registration up to date until cancelled."""
        if not self._settings.registers:
            return
        self._registering = True
        backoff = Backoff(1.0, _LOOK_EVERY, clock=self._clock)
        known, applied = b"", 0.0
        try:
            await self.server.listening.wait()  # before this, the port may not be known
            self._leader = client
            while True:
                wait = _LOOK_EVERY
                try:
                    authorities = await self._certificate.authorities()
                    due = not self._registered or self._clock.monotonic() - applied >= _APPLY_EVERY
                    if due or self._trouble or authorities != known:
                        await self._publish(authorities)
                        known, applied = authorities, self._clock.monotonic()
                        backoff.reset()
                except (ClientError, CertificateError) as error:
                    self._trouble = str(error)
                    log.error("webhooks_not_registered", error=self._trouble)
                    wait = backoff.next()
                await self._clock.sleep(wait)
        finally:
            self._leader, self._registering, self._registered, self._trouble = None, False, False, ""

    async def _publish(self, authorities: bytes) -> None:
        """
        Register with these authorities.

        :raises ClientError: if the server refuses
        """
        if self._leader is None:
            return
        for webhooks in self._webhooks:
            await Registration(self._leader, webhooks, self._address()).publish(authorities)
        if not self._registered:
            log.info("webhooks_registered", names=[one.name for one in self._webhooks])
        self._registered, self._trouble = True, ""

    def _address(self) -> Address:
        settings = self._settings
        if settings.service is not None:
            return Address(service=settings.service, port=settings.service_port, inject_ca_from=settings.inject_ca_from)
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        url = settings.url or f"https://{host}:{self.server.port}"
        return Address(url=url, inject_ca_from=settings.inject_ca_from)

    def unready(self) -> str:
        """Why this replica does not serve, or the leader has not registered; empty if all is well."""
        if not self.server.listening.is_set():
            return "the webhooks are not served yet"
        if self._trouble:
            return f"the webhooks are not registered: {self._trouble}"
        return "the webhooks are not registered yet" if self._registering and not self._registered else ""

    async def _wrong(self) -> str:
        return self.unready()

    def views(self) -> list[WebhookView]:
        """The state of each webhook, conversions last."""
        made = [
            self._view(hook.path, "mutating" if hook.mutates else "validating", str(hook.resource.gvr.group_resource))
            for one in self._webhooks
            for hook in one.hooks.values()
        ]
        if CONVERT_PATH in self.server.calls:
            made.append(self._view(CONVERT_PATH, "conversion", ", ".join(_converted_by(self._webhooks))))
        return made

    def _view(self, path: str, kind: str, resource: str) -> WebhookView:
        calls = self.server.calls[path]
        times = calls.times
        return WebhookView(
            path=path,
            kind=kind,
            resource=resource,
            state=self._state(),
            requests=calls.requests,
            refused=calls.refused,
            failed=calls.failed,
            running=calls.running,
            requests_per_second=None,
            seconds_median=quantile(times, 0.5),
            seconds_99=quantile(times, 0.99),
        )

    def _state(self) -> str:
        if not self.server.listening.is_set():
            return "not serving"
        if self._trouble:
            return "not registered"
        return "registered" if self._registered else "serving"


def _checked(declared: Sequence[Any]) -> list[Webhooks]:
    for one in declared:
        if not isinstance(one, Webhooks):
            raise OptionError(f"a controller declares {one!r} as its webhooks: want a Webhooks object")
    return list(declared)


def _converted_by(webhooks: Sequence[Webhooks]) -> list[str]:
    """The custom resources whose versions are converted, as in kubectl. Their definitions have the same names."""
    return [str(resource_for(type_).gvr.group_resource) for one in webhooks for type_ in one.converted]
