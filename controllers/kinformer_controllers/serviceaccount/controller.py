"""The service account controller: sees to it that every active namespace has certain ServiceAccounts.

In: Namespaces and ServiceAccounts. Out: the accounts that are missing. Promised: an account that is there is never
changed, and one that is deleted is made again. Nothing is made in a namespace that is being deleted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from kinformer.cache import ResourceEventHandlerFuncs, deletion_handling_object_name
from kinformer.client import Client
from kinformer.client.errors import AlreadyExists, has_status_cause
from kinformer.clock import Clock
from kinformer.informers import SharedInformerFactory
from kinformer.manager import Controller, ControllerContext
from kinformer.models import V1Namespace, V1ObjectMeta, V1ServiceAccount

__all__ = ("ServiceAccountController", "make_controller")

#: The accounts that kube-controller-manager makes.
DEFAULT_ACCOUNTS: Final = ("default",)


def make_controller(context: ControllerContext) -> Controller:
    """The entry point of the service account controller. It has no options."""
    return ServiceAccountController(context.client, context.informers, clock=context.clock).controller


class ServiceAccountController:
    """
    Makes the ServiceAccounts that each namespace is to have.

    :param names: of the accounts
    """

    def __init__(
        self,
        client: Client,
        informers: SharedInformerFactory,
        names: Sequence[str] = DEFAULT_ACCOUNTS,
        *,
        clock: Clock | None = None,
    ) -> None:
        self._names = names
        self._server = client.resource(V1ServiceAccount)
        namespaces, accounts = informers.informer_for(V1Namespace), informers.informer_for(V1ServiceAccount)
        self._namespaces, self._accounts = namespaces.indexer, accounts.indexer
        self.controller = Controller("serviceaccount", self.sync, clock=clock).watch(namespaces)
        self.controller.handle(accounts, ResourceEventHandlerFuncs(delete=self._on_deleted))

    async def sync(self, namespace: str) -> None:
        """
        Make the accounts that a namespace lacks.

        :raises ClientError: if one cannot be made; the others are made first
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
            return None  # the cache has yet to hear of it
        except Exception as error:
            # A namespace that is on its way out takes no new objects, and needs none.
            return None if has_status_cause(error, "NamespaceTerminating") else error
        return None

    def _on_deleted(self, account: Any) -> None:
        self.controller.queue.add(deletion_handling_object_name(account).namespace)
