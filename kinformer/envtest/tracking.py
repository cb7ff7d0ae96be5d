"""The ConfigMap with the day since which the server records the use of tokens in Secrets.

The cleaner of such tokens reads it. It is created when the ConfigMaps of kube-system are first read. Most tests never
do that. Otherwise every informer of ConfigMaps would have an object that no test has created.
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
    """Creates the ConfigMap with the day on which the server was started, also after it was deleted."""

    def __init__(self, operations: Operations):
        self._operations = operations
        self._since = operations.clock.now().astimezone(UTC).strftime("%Y-%m-%d")

    def look(self, resource: GroupResource, namespace: str) -> None:
        """Note that objects of a namespace are about to be read."""
        if resource != _CONFIG_MAPS or namespace != _NAMESPACE:
            return
        if self._operations.storage.get(_CONFIG_MAPS, _NAMESPACE, _NAME) is not None:
            return
        config_maps = self._operations.registry.find("", "v1", "configmaps")
        if config_maps is not None and self._operations.storage.get(_NAMESPACES, "", _NAMESPACE) is not None:
            body = {"metadata": {"name": _NAME}, "data": {"since": self._since}}
            self._operations.create(config_maps, _NAMESPACE, body)
