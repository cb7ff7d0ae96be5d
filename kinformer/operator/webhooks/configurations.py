"""Configurations: what tells API servers which webhooks there are, where, and whom to trust.

The functions of a :class:`~kinformer.operator.webhooks.Webhooks` and an address go in; a
ValidatingWebhookConfiguration and a MutatingWebhookConfiguration come out, to be printed as manifests or applied by the
operator itself (:class:`Registration`), which also puts the authorities into them when they change.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
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
from kinformer.operator.webhooks.hooks import Hook, Webhooks
from kinformer.operator.webhooks.server import CONVERT_PATH

__all__ = ("Address", "Registration", "configurations")

#: A name that the API takes has two dots at least: what stands before those of one operator.
_KINDS: Final = {True: "MutatingWebhookConfiguration", False: "ValidatingWebhookConfiguration"}


@dataclass(frozen=True, slots=True)
class Address:
    """
    Where API servers find the webhooks: a Service, or a URL.

    :param service: ``(namespace, name)``; with `port`
    :param url: ``https://host:port``, for a server outside the cluster
    :param authorities: who vouches for the certificate there, in PEM; empty where the machine's own will do
    :raises ValueError: if both or neither of `service` and `url` are given, or the URL is none of HTTPS
    """

    service: tuple[str, str] | None = None
    port: int = 443
    url: str = ""
    authorities: bytes = b""

    def __post_init__(self) -> None:
        if (self.service is None) == (not self.url):
            raise ValueError("webhooks are found by a Service or by a URL: want one of the two")
        if self.url and not self.url.startswith("https://"):
            raise ValueError(f"{self.url} is no address of webhooks: API servers ask over https:// only")

    def client_config(self, path: str) -> dict[str, Any]:
        """What the API calls a WebhookClientConfig."""
        made: dict[str, Any] = {}
        if self.service is not None:
            namespace, name = self.service
            made["service"] = {"namespace": namespace, "name": name, "path": path, "port": self.port}
        else:
            made["url"] = f"{self.url.rstrip('/')}{path}"
        if self.authorities:
            made["caBundle"] = base64.b64encode(self.authorities).decode()
        return made


def configurations(
    webhooks: Webhooks, address: Address
) -> list[V1MutatingWebhookConfiguration | V1ValidatingWebhookConfiguration]:
    """The configurations of all webhooks: one of those that mutate, one of those that validate; none without any."""
    made: list[Any] = []
    for mutates, type_ in ((True, V1MutatingWebhookConfiguration), (False, V1ValidatingWebhookConfiguration)):
        hooks = [hook for hook in webhooks.hooks.values() if hook.mutates is mutates]
        if hooks:
            manifest = {
                "apiVersion": "admissionregistration.k8s.io/v1",
                "kind": _KINDS[mutates],
                "metadata": {"name": webhooks.name},
                "webhooks": [_webhook(webhooks.name, hook, address) for hook in hooks],
            }
            made.append(from_dict(type_, manifest))
    return made


def _webhook(name: str, hook: Hook, address: Address) -> dict[str, Any]:
    resource = hook.resource
    named = f"{hook.path.strip('/').replace('/', '-').lower()}.{name}"
    made: dict[str, Any] = {
        "name": named if named.count(".") > 1 else f"{named}.kinformer",
        "clientConfig": address.client_config(hook.path),
        "rules": [
            {
                "operations": list(hook.operations),
                "apiGroups": [resource.group],
                "apiVersions": [resource.version],
                "resources": [f"{resource.plural}/{sub}" if sub else resource.plural for sub in hook.subresources],
                "scope": "Namespaced" if resource.namespaced else "Cluster",
            }
        ],
        "failurePolicy": hook.failure_policy,
        "sideEffects": hook.side_effects,
        "timeoutSeconds": hook.timeout,
        "admissionReviewVersions": ["v1"],
    }
    if hook.match_conditions:
        made["matchConditions"] = [{"name": key, "expression": text} for key, text in hook.match_conditions]
    return made


class Registration:
    """
    The configurations of an operator's webhooks, kept at the server by the operator itself.

    :param converted: the custom resources whose versions the webhooks convert: their definitions are told so
    """

    def __init__(
        self, client: Client, webhooks: Webhooks, address: Address, converted: Sequence[type[Any]] = ()
    ) -> None:
        self._client = client
        self._webhooks = webhooks
        self._address = address
        self._converted = tuple(converted)

    async def publish(self, authorities: bytes) -> None:
        """
        Apply the configurations, with these authorities: what a
        :class:`~kinformer.operator.webhooks.ClusterCertificate` does with its own.

        :raises ClientError: if the server refuses one
        """
        self._address = replace(self._address, authorities=authorities)
        await self.apply()

    async def apply(self) -> None:
        """
        Apply the configurations as they are now.

        :raises ClientError: if the server refuses one
        """
        for configuration in configurations(self._webhooks, self._address):
            resource: Any = self._client.resource(type(configuration))
            await resource.apply(configuration, field_manager=self._webhooks.name, force=True)
        for type_ in self._converted:
            await self._apply_conversion(type_)

    async def _apply_conversion(self, type_: type[Any]) -> None:
        info = resource_for(type_)
        name = f"{info.plural}.{info.group}"
        conversion = {
            "strategy": "Webhook",
            "webhook": {
                "clientConfig": self._address.client_config(CONVERT_PATH),
                "conversionReviewVersions": ["v1"],
            },
        }
        # A merge patch, which leaves the versions to whoever applies the definition.
        await self._client.resource(V1CustomResourceDefinition).patch(
            name, {"spec": {"conversion": conversion}}, patch_type=PatchType.MERGE
        )

    async def withdraw(self) -> None:
        """Delete the configurations: nobody asks the webhooks any more. The conversions stay."""
        for configuration in configurations(self._webhooks, self._address):
            try:
                await self._client.resource(type(configuration)).delete(self._webhooks.name)
            except NotFound:
                continue
