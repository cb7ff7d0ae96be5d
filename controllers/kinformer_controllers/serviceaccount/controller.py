"""The service account controller: creates certain ServiceAccounts in every active namespace.

In: Namespaces and ServiceAccounts. Out: missing accounts are created. Promised: an existing account is never changed; a
deleted one is created again; nothing is created in a namespace that is being deleted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from kinformer.cache import ResourceEventHandlerFuncs, deletion_handling_object_name
from kinformer.client.errors import AlreadyExists
from kinformer.controllerutil.pod_control import is_namespace_terminating
from kinformer.manager import Controller, ControllerContext
from kinformer.models import V1Namespace, V1ObjectMeta, V1ServiceAccount

__all__ = ("ServiceAccountController",)

#: The accounts that kube-controller-manager makes.
DEFAULT_ACCOUNTS: Final = ("default",)


class ServiceAccountController:
    """
    Syncs namespaces.

    :param names: the names of the accounts that each namespace should have
    """

    def __init__(self, context: ControllerContext, names: Sequence[str] = DEFAULT_ACCOUNTS) -> None:
        informers = context.informers
        self._names = names
        self._server = context.client.resource(V1ServiceAccount)
        namespaces, accounts = informers.informer_for(V1Namespace), informers.informer_for(V1ServiceAccount)
        self._namespaces, self._accounts = namespaces.indexer, accounts.indexer
        self.controller = Controller("serviceaccount", self.sync, clock=context.clock).watch(namespaces)
        self.controller.handle(accounts, ResourceEventHandlerFuncs(delete=self._on_deleted))

    async def sync(self, namespace: str) -> None:
        """
        Create the missing accounts of a namespace.

        :raises ClientError: if one could not be created; the others are created first
        """
        found = self._namespaces.get_by_key(namespace)
        if found is None or found.status is None or found.status.phase != "Active":
            return
        errors = [error for name in self._names if (error := await self._ensure(namespace, name)) is not None]
        if len(errors) > 1:
            raise ExceptionGroup(f"accounts of namespace {namespace}", errors)
        if errors:
            raise errors[0]

    async def _ensure(self, namespace: str, name: str) -> Exception | None:
        if self._accounts.get_by_key(f"{namespace}/{name}") is not None:
            return None
        try:
            await self._server.create(V1ServiceAccount(metadata=V1ObjectMeta(name=name, namespace=namespace)))
        except AlreadyExists:
            return None  # the cache does not show it yet
        except Exception as error:
            # A namespace that is being deleted accepts no new objects, and needs none.
            return None if is_namespace_terminating(error) else error
        return None

    def _on_deleted(self, account: Any) -> None:
        self.controller.queue.add(deletion_handling_object_name(account).namespace)
