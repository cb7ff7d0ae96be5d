"""The ConfigMap that says since when the server notes which tokens in Secrets are used.

The cleaner of such tokens goes by it. It is made when somebody first looks at the ConfigMaps of kube-system: most tests
never do, and would find an object in every informer of ConfigMaps that none of them has made.
"""

from __future__ import annotations

from datetime import UTC

from kinformer.envtest.operations import Operations
from kinformer.meta.names import GroupResource

__all__ = ("TokenTracking",)

_CONFIG_MAPS = GroupResource("", "configmaps")
_NAMESPACES = GroupResource("", "namespaces")
_NAMESPACE = "kube-system"
_NAME = "kube-apiserver-legacy-service-account-token-tracking"


class TokenTracking:
    """It says the day on which the server was started; one that is deleted is made again."""

    def __init__(self, operations: Operations):
        self._operations = operations
        self._since = operations.clock.now().astimezone(UTC).strftime("%Y-%m-%d")

    def look(self, resource: GroupResource, namespace: str) -> None:
        """Somebody is about to look at the objects of a namespace."""
        if resource != _CONFIG_MAPS or namespace != _NAMESPACE:
            return
        if self._operations.storage.get(_CONFIG_MAPS, _NAMESPACE, _NAME) is not None:
            return
        config_maps = self._operations.registry.find("", "v1", "configmaps")
        if config_maps is not None and self._operations.storage.get(_NAMESPACES, "", _NAMESPACE) is not None:
            body = {"metadata": {"name": _NAME}, "data": {"since": self._since}}
            self._operations.create(config_maps, _NAMESPACE, body)
