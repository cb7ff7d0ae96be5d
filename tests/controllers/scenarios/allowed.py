"""Controllers that may do what they declare and Kubernetes' roles allow, and connections that remember what was asked.

As in kube-controller-manager, the informers use the manager's own credentials, and a controller those of its account.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import Any

import anyio

from kinformer.client import Client, Forbidden
from kinformer.client.config import endpoint_from_url
from kinformer.client.impersonation import Impersonation
from kinformer.client.transport import Transport
from kinformer.clock import Clock
from kinformer.envtest import ApiServer
from kinformer.manager import Manager, known_controllers
from kinformer.manager.rbac import declared_permissions, manifests
from kinformer.permissions import Permission, Rule
from tests.controllers.kubecontrollermanager.roles import MANAGER, account_of, within
from tests.golden.api import connected
from tests.golden.keys import key_flags

__all__ = ("Asking", "managers_with_their_permissions", "rules_of")

_WRITES = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


def rules_of(controller: str) -> tuple[Rule, ...]:
    rules = declared_permissions(known_controllers()[controller].load())
    assert rules is not None, f"{controller} declares no permissions"
    return rules


class Asking(Transport):
    """
    A controller's connection, as a user of its own.

    :ivar asked: what was asked for
    :ivar refused: what of it was forbidden
    """

    def __init__(self, server: ApiServer, user: str, clock: Clock) -> None:
        endpoint = replace(endpoint_from_url(server.url, token=server.token), impersonation=Impersonation(user=user))
        super().__init__(endpoint, clock=clock)
        self.asked: Counter[Permission] = Counter()
        self.refused: list[str] = []

    async def request(self, method: str, path: str, **request: Any) -> bytes:
        self._note(method, path, is_watch=False)
        try:
            return await super().request(method, path, **request)
        except Forbidden as error:
            if "cannot" in str(error):  # and not a quota's, or that of a namespace that ends
                self.refused.append(str(error))
            raise

    async def stream(self, path: str, **request: Any) -> Any:
        self._note("GET", path, is_watch=True)
        try:
            return await super().stream(path, **request)
        except Forbidden as error:
            self.refused.append(str(error))
            raise

    def _note(self, method: str, path: str, *, is_watch: bool) -> None:
        parts = path.strip("/").split("/")
        if len(parts) < 3 or (parts[0] == "apis" and len(parts) < 4):
            return  # discovery
        group, rest = ("", parts[2:]) if parts[0] == "api" else (parts[1], parts[3:])
        if rest[0] == "namespaces" and len(rest) > 2 and rest[2] != "status":
            rest = rest[2:]
        resource, name, part = [*rest, "", ""][:3]
        verb = _WRITES.get(method) or ("watch" if is_watch else "get" if name else "list")
        self.asked[Permission(verb, group, resource, part)] += 1


@asynccontextmanager
async def managers_with_their_permissions(
    server: ApiServer, rules: Mapping[str, Iterable[Rule]], clock: Clock, flags: Mapping[str, Any] | None = None
) -> AsyncIterator[dict[str, Asking]]:
    """
    Run each controller in a manager of its own, with one user for its informers and one for its own requests; give
    the connections of both.

    :param rules: by the names of the controllers
    :param flags: what they are told beside :func:`~tests.golden.keys.key_flags`
    """
    told = key_flags() | dict(flags or {})
    async with AsyncExitStack() as stack:
        api = await stack.enter_async_context(connected(server.url, server.token, namespace="default"))
        asking: dict[str, Asking] = {}
        tasks = await stack.enter_async_context(anyio.create_task_group())
        stack.callback(tasks.cancel_scope.cancel)
        for name, declared in rules.items():
            for user, account in ((name, account_of(name)), (f"{name}-informers", MANAGER)):
                for manifest in manifests({user: within(account, declared)}):
                    await api.create(manifest)
                    await api.create(_binding(manifest, user))
                asking[user] = await stack.enter_async_context(Asking(server, user, clock))
        for name in rules:
            manager = Manager(
                Client(asking[f"{name}-informers"]),
                clients={name: Client(asking[name])},
                controllers=[name],
                flags=told,
                clock=clock,
                beside_kube_controller_manager=True,
            )
            tasks.start_soon(manager.run)
        yield asking
        tasks.cancel_scope.cancel()


def _binding(role: dict[str, Any], user: str) -> dict[str, Any]:
    group, metadata = "rbac.authorization.k8s.io", role["metadata"]
    return {
        "apiVersion": f"{group}/v1",
        "kind": f"{role['kind']}Binding",
        "metadata": metadata,
        "roleRef": {"apiGroup": group, "kind": role["kind"], "name": metadata["name"]},
        "subjects": [{"apiGroup": group, "kind": "User", "name": user}],
    }
