"""The aggregation of ClusterRoles: fills roles that have an aggregation rule with the rules of the selected roles.

In: ClusterRoles. Out: the rules of those with an aggregation rule, by server-side apply. Promised: rules are in the
order of the selectors, then of the roles' names, without duplicates. A role does not include itself.
"""

from __future__ import annotations

from typing import Any, Final

from kinformer.cache import ResourceEventHandlerFuncs
from kinformer.manager import Controller, ControllerContext, SyncError
from kinformer.meta import label_selector_as_selector, meta_namespace_key
from kinformer.models import V1ClusterRole, V1PolicyRule, to_dict

__all__ = ("AggregationController",)

#: Kubernetes' name. With the same name, either controller can continue the other one's work.
FIELD_MANAGER: Final = "clusterrole-aggregation-controller"
WORKERS: Final = 5


class AggregationController:
    """Syncs ClusterRoles that have an aggregation rule."""

    def __init__(self, context: ControllerContext) -> None:
        self._server = context.client.resource(V1ClusterRole)
        roles = context.informers.informer_for(V1ClusterRole)
        self._roles = roles.indexer
        self.controller = Controller(
            "clusterrole-aggregation",
            self.sync,
            workers=WORKERS,
            queue_name="ClusterRoleAggregator",
            clock=context.clock,
        )
        # A changed role may be a part of any aggregated role.
        queue_all = self._queue_aggregated
        self.controller.handle(roles, ResourceEventHandlerFuncs(queue_all, lambda _, new: queue_all(new), queue_all))

    async def sync(self, name: str) -> None:
        """
        Update the rules of one role.

        :raises SyncError: if a selector is invalid
        :raises ClientError: if the server refuses
        """
        role = self._roles.get_by_key(name)
        if role is None or role.aggregation_rule is None:
            return
        rules = self._rules(role)
        if rules == (role.rules or []):
            return
        body: dict[str, Any] = {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {"name": name},
        }
        if rules:
            # As Kubernetes: a role that collects nothing loses only what this controller has written. Rules that
            # somebody else has given it stay.
            body["rules"] = [to_dict(rule) for rule in rules]
        await self._server.apply(body, field_manager=FIELD_MANAGER, force=True)

    def _rules(self, role: V1ClusterRole) -> list[V1PolicyRule]:
        assert role.aggregation_rule is not None
        found: list[V1PolicyRule] = []
        others = sorted(self._roles.list(), key=lambda other: other.metadata.name)
        for each in role.aggregation_rule.cluster_role_selectors or ():
            try:
                selector = label_selector_as_selector(each)
            except ValueError as error:
                raise SyncError(f"ClusterRole {role.metadata.name}: {error}") from error
            for other in others:
                if other.metadata.name == role.metadata.name or not selector.matches(other.metadata.labels or {}):
                    continue
                found += [rule for rule in other.rules or () if rule not in found]
        return found

    def _queue_aggregated(self, _: Any) -> None:
        for role in self._roles.list():
            if role.aggregation_rule is not None:
                self.controller.queue.add(meta_namespace_key(role))
