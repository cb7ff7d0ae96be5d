"""Webhook configurations: they tell API servers which webhooks exist, where they are, and which authority to trust.

From the functions of a :class:`~kinformer.operator.webhooks.Webhooks` and an address, this module makes a
ValidatingWebhookConfiguration and a MutatingWebhookConfiguration. They can be printed as manifests, or the operator
applies them itself (:class:`Registration`) and updates them when the authorities change.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from kinformer.client import Client, NotFound, PatchType
from kinformer.models import (
    V1CustomResourceDefinition,
    V1MutatingWebhookConfiguration,
    V1ValidatingWebhookConfiguration,
    from_dict,
    resource_for,
)
from kinformer.operator.webhooks.hooks import Webhooks
from kinformer.operator.webhooks.registered import Hook
from kinformer.operator.webhooks.server import CONVERT_PATH

__all__ = ("CONFIGURATIONS", "Address", "Registration", "configurations")

#: The type of a configuration, by whether its webhooks mutate.
CONFIGURATIONS: Final[Mapping[bool, type[V1MutatingWebhookConfiguration] | type[V1ValidatingWebhookConfiguration]]] = {
    True: V1MutatingWebhookConfiguration,
    False: V1ValidatingWebhookConfiguration,
}

#: cert-manager's annotation.
_INJECT: Final = "cert-manager.io/inject-ca-from"


@dataclass(frozen=True, slots=True)
class Address:
    """
    The address of the webhook server: a Service, or a URL.

    :param service: the namespace and the name of the Service
    :param port: the port of the Service
    :param url: ``https://host:port``, for a server outside the cluster
    :param authorities: the certificates of the authorities to trust, in PEM; empty: those that the API server trusts
        anyway
    :param inject_ca_from: the namespace and the name of cert-manager's Certificate, as ``NAMESPACE/NAME``. cert-manager
        then writes its authority into the configurations, and `authorities` are left out
    :raises ValueError: if both or neither of `service` and `url` are given, or the URL does not begin with ``https://``
    """

    service: tuple[str, str] | None = None
    port: int = 443
    url: str = ""
    authorities: bytes = b""
    inject_ca_from: str = ""

    def __post_init__(self) -> None:
        if (self.service is None) == (not self.url):
            raise ValueError("webhooks are found by a Service or by a URL: want one of the two")
        if self.url and not self.url.startswith("https://"):
            raise ValueError(f"{self.url} is not an address of webhooks: want a URL that begins with https://")

    @property
    def annotations(self) -> dict[str, str]:
        """The annotations of what is registered."""
        return {_INJECT: self.inject_ca_from} if self.inject_ca_from else {}

    def client_config(self, path: str) -> dict[str, Any]:
        """The API's WebhookClientConfig for a path."""
        made: dict[str, Any] = {}
        if self.service is not None:
            namespace, name = self.service
            made["service"] = {"namespace": namespace, "name": name, "path": path, "port": self.port}
        else:
            made["url"] = f"{self.url.rstrip('/')}{path}"
        if self.authorities and not self.inject_ca_from:
            made["caBundle"] = base64.b64encode(self.authorities).decode()
        return made


def configurations(
    webhooks: Webhooks, address: Address
) -> list[V1MutatingWebhookConfiguration | V1ValidatingWebhookConfiguration]:
    """Make one configuration of all mutating webhooks and one of all validating webhooks, if there are any."""
    made: list[V1MutatingWebhookConfiguration | V1ValidatingWebhookConfiguration] = []
    for mutates, type_ in CONFIGURATIONS.items():
        hooks = [hook for hook in webhooks.hooks.values() if hook.mutates is mutates]
        if hooks:
            info = resource_for(type_)
            manifest = {
                "apiVersion": info.api_version,
                "kind": info.kind,
                "metadata": {"name": webhooks.name, "annotations": address.annotations},
                "webhooks": [_webhook(webhooks.name, hook, address) for hook in hooks],
            }
            made.append(from_dict(type_, manifest))
    return made


def _webhook(name: str, hook: Hook, address: Address) -> dict[str, Any]:
    # The API wants a name with at least two dots.
    named = f"{hook.path.strip('/').replace('/', '-').lower()}.{name}"
    return hook.manifest(named if named.count(".") > 1 else f"{named}.kinformer", address.client_config(hook.path))


class Registration:
    """
    Registers an operator's webhooks at the API server.

    :param client: for the configurations
    :param webhooks: the webhooks
    :param address: the address of the webhook server
    :param converted: the custom resources whose definitions are patched to use the webhook; None: those whose versions
        the webhooks convert
    """

    def __init__(
        self, client: Client, webhooks: Webhooks, address: Address, converted: Sequence[type[Any]] | None = None
    ) -> None:
        self._client = client
        self._webhooks = webhooks
        self._address = address
        self._converted = webhooks.converted if converted is None else tuple(converted)

    async def publish(self, authorities: bytes) -> None:
        """
        Apply the configurations with these authorities. Pass this to
        :class:`~kinformer.operator.webhooks.ClusterCertificate`.

        :param authorities: the certificates of the authorities, in PEM
        :raises ClientError: if the server refuses a configuration
        """
        self._address = replace(self._address, authorities=authorities)
        await self.apply()

    async def apply(self) -> None:
        """
        Apply the configurations with the current authorities.

        :raises ClientError: if the server refuses a configuration
        """
        for configuration in configurations(self._webhooks, self._address):
            resource: Any = self._client.resource(type(configuration))
            await resource.apply(configuration, field_manager=self._webhooks.name, force=True)
        for type_ in self._converted:
            await self._apply_conversion(type_)

    async def _apply_conversion(self, type_: type[Any]) -> None:
        name = str(resource_for(type_).gvr.group_resource)
        conversion = {
            "strategy": "Webhook",
            "webhook": {
                # A merge patch keeps what it does not name, and a URL beside a Service is refused.
                "clientConfig": {"service": None, "url": None, **self._address.client_config(CONVERT_PATH)},
                "conversionReviewVersions": ["v1"],
            },
        }
        patch = {"metadata": {"annotations": self._address.annotations}, "spec": {"conversion": conversion}}
        # A merge patch does not touch the versions. They belong to the field manager that applies the definition.
        await self._client.resource(V1CustomResourceDefinition).patch(name, patch, patch_type=PatchType.MERGE)

    async def withdraw(self) -> None:
        """Delete the configurations, so that API servers no longer call the webhooks. The conversions stay."""
        for configuration in configurations(self._webhooks, self._address):
            try:
                await self._client.resource(type(configuration)).delete(self._webhooks.name)
            except NotFound:
                continue
