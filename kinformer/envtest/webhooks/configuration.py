"""The configured webhooks. They are read from the stored configurations again when those have changed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kinformer.envtest.policies.conditions import Conditions
from kinformer.envtest.policies.matching import Criteria
from kinformer.envtest.storage import Storage
from kinformer.expressions import is_available
from kinformer.meta.names import GroupResource
from kinformer.meta.selectors import label_selector_as_selector

__all__ = ("GROUP", "MUTATING", "VALIDATING", "Hook", "HookList")

GROUP = "admissionregistration.k8s.io"
MUTATING = GroupResource(GROUP, "mutatingwebhookconfigurations")
VALIDATING = GroupResource(GROUP, "validatingwebhookconfigurations")


@dataclass(frozen=True, slots=True, eq=False)
class Hook:
    """
    One webhook of a configuration.

    :param identity: unique, also among webhooks of the same name
    """

    identity: str
    name: str
    criteria: Criteria
    conditions: Conditions | None
    client: dict[str, Any]
    ignores_failure: bool
    timeout: int
    dry_runs: bool
    reinvoked: bool
    versions: tuple[str, ...]


class HookList:
    """All mutating or all validating webhooks, in the order of their configurations' names."""

    def __init__(self, storage: Storage, resource: GroupResource):
        self._log = storage.log(resource)
        self._read = -1
        self._hooks: tuple[Hook, ...] = ()

    @property
    def hooks(self) -> tuple[Hook, ...]:
        if self._read != (end := self._log.end):
            self._hooks = tuple(hook for version in self._log.select("") for hook in _hooks_of(version.decode()))
            self._read = end
        return self._hooks


def _hooks_of(configuration: dict[str, Any]) -> Iterator[Hook]:
    for index, webhook in enumerate(configuration.get("webhooks") or ()):
        yield Hook(
            identity=f"{configuration['metadata']['name']}/{webhook['name']}/{index}",
            name=webhook["name"],
            criteria=Criteria(
                rules=tuple(webhook.get("rules") or ()),
                namespaces=label_selector_as_selector(webhook.get("namespaceSelector") or {}),
                objects=label_selector_as_selector(webhook.get("objectSelector") or {}),
                equivalent=webhook.get("matchPolicy") != "Exact",
            ),
            conditions=_conditions_of(webhook),
            client=webhook["clientConfig"],
            ignores_failure=webhook.get("failurePolicy") == "Ignore",
            timeout=webhook.get("timeoutSeconds") or 10,
            dry_runs=webhook.get("sideEffects") in ("None", "NoneOnDryRun"),
            reinvoked=webhook.get("reinvocationPolicy") == "IfNeeded",
            versions=tuple(webhook.get("admissionReviewVersions") or ()),
        )


def _conditions_of(webhook: dict[str, Any]) -> Conditions | None:
    conditions = webhook.get("matchConditions")
    # A server that cannot compile expressions stores none, but it may have the data of another server.
    if not conditions or not is_available():
        return None
    return Conditions(conditions, ignores_failure=webhook.get("failurePolicy") == "Ignore")
