"""The ResourceClaim controller, as kube-controller-manager has it.

In: pods, ResourceClaims and their templates; with the feature gate DRAWorkloadResourceClaims also PodGroups. Out:
claims made from templates with their names in the pods' statuses, reservations for pods that are on a node, and claims
that no pod uses released or deleted. The scheduler allocates devices to claims; this controller only takes them back.

One queue has three sorts of keys, as in Kubernetes: ``pod:``, ``podgroup:`` and ``claim:``, each followed by the key of
the object.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from kinformer.cache import ResourceEventHandlerFuncs
from kinformer.controllerutil.handlers import ChangeHandler
from kinformer.manager import Controller, ControllerContext, Group
from kinformer.meta import meta_namespace_key
from kinformer.models import ResourceV1ResourceClaim, V1alpha2PodGroup, V1Pod, V1ResourceClaimTemplate
from kinformer_controllers.resourceclaim.decision import claims_to_release, needs_sync
from kinformer_controllers.resourceclaim.making import OWNER_INDEX, ClaimMaker, owner_values
from kinformer_controllers.resourceclaim.metrics import counted_claims
from kinformer_controllers.resourceclaim.releasing import ClaimSync, Users
from kinformer_controllers.resourceclaim.spec import ResourceClaimOptions
from kinformer_controllers.shared.devices import (
    GROUP_INDEX,
    Claimant,
    add_group_index,
    asks_for_claims,
    claimant_of_group,
    claimant_of_pod,
)
from kinformer_controllers.shared.gates import Gates

__all__ = ("COMPONENT", "ResourceClaimController")

#: The source component of its Events.
COMPONENT: Final = "resource_claim"
_POD, _GROUP, _CLAIM = "pod:", "podgroup:", "claim:"
_PREFIXES: Final = {"Pod": _POD, "PodGroup": _GROUP}
#: The indexes of pods and of PodGroups: by claim, and by template.
_BY_CLAIM, _BY_TEMPLATE = "resourceclaim-used", "resourceclaim-template-used"


class ResourceClaimController(Group):
    """Makes, reserves and releases claims."""

    def __init__(self, context: ControllerContext) -> None:
        options = context.read(ResourceClaimOptions)
        gates = Gates(options.feature_gates)
        self._with_groups = gates.is_on("DRAWorkloadResourceClaims")
        client, informers = context.client, context.informers
        pods, claims = informers.informer_for(V1Pod), informers.informer_for(ResourceV1ResourceClaim)
        templates = informers.informer_for(V1ResourceClaimTemplate)
        groups = informers.informer_for(V1alpha2PodGroup) if self._with_groups else None
        add_indexes(pods, claimant_of_pod, asks_for_claims)
        claims.add_indexers({OWNER_INDEX: owner_values})
        if groups is not None:
            add_indexes(groups, claimant_of_group)
            add_group_index(pods)
        self._pods, self._claims = pods.indexer, claims.indexer
        self._groups = groups.indexer if groups is not None else None
        self.users = Users(client, self._cached)
        self._maker = ClaimMaker(
            client,
            claims.indexer,
            templates.indexer,
            context.recorder(COMPONENT),
            self._group,
            with_groups=self._with_groups,
            with_lists=gates.is_on("DRAPrioritizedList"),
        )
        self._claim_sync = ClaimSync(client, self.users, with_groups=self._with_groups)
        self.controller = Controller(
            "resourceclaim",
            self.sync,
            workers=options.concurrent_resourceclaim_syncs,
            queue_name="resource_claim",
            shard_by=lambda key: key.partition(":")[2].partition("/")[0],
            consistent=True,
            clock=context.clock,
        )
        super().__init__(self.controller)
        self._add: Callable[[str], object] = self.controller.queue.add
        self.controller.handle(pods, ChangeHandler(partial(self._user_told, claimant_of_pod)))
        self.controller.handle(claims, ChangeHandler(self._claim_changed))
        self.controller.handle(
            templates, ResourceEventHandlerFuncs(self._template_changed, lambda _, new: self._template_changed(new))
        )
        if groups is not None:
            self.controller.handle(groups, ChangeHandler(partial(self._user_told, claimant_of_group)))

    async def run(self) -> None:
        """Work until cancelled. Meanwhile, the metrics show the number of claims."""
        with counted_claims(self._claims):
            await super().run()

    async def sync(self, key: str) -> None:
        """
        Sync a pod, a PodGroup or a claim.

        :raises SyncError: if a claim cannot be made
        :raises ClientError: if the server refuses a request
        """
        sort, _, name = key.partition(":")
        if sort == "claim":
            claim = self._claims.get_by_key(name)
            if claim is not None:
                await self._claim_sync.sync(claim)
            return
        if sort == "pod":
            pod = self._pods.get_by_key(name)
            if pod is not None:
                await self._maker.sync(claimant_of_pod(pod), pod)
        elif self._groups is not None and (group := self._groups.get_by_key(name)) is not None:
            await self._maker.sync(claimant_of_group(group), group)

    # Caches

    def _cached(self, kind: str, key: str) -> Claimant | None:
        if kind == "Pod":
            pod = self._pods.get_by_key(key)
            return claimant_of_pod(pod) if pod is not None else None
        group = self._groups.get_by_key(key) if self._groups is not None else None
        return claimant_of_group(group) if group is not None else None

    def _group(self, pod: Claimant) -> Claimant | None:
        if not self._with_groups or not pod.group:
            return None
        group = self._cached("PodGroup", f"{pod.namespace}/{pod.group}")
        if group is None:
            raise LookupError(f'get PodGroup for Pod {pod.key}: podgroup.scheduling.k8s.io "{pod.group}" not found')
        return group

    # Events of informers

    def _user_told(self, read: Callable[[Any], Claimant], old: Any, new: Any) -> None:
        if old is not None and (new is None or old.metadata.uid != new.metadata.uid):
            self._user_changed(read(old), is_gone=True)
        if new is not None:
            self._user_changed(read(new))

    def _user_changed(self, user: Claimant, *, is_gone: bool = False) -> None:
        if not user.uses_claims:
            return
        if is_gone:
            self.users.saw_deletion(user)
        for name in claims_to_release(user, is_gone=is_gone):
            self._add(f"{_CLAIM}{user.namespace}/{name}")
        if not is_gone:
            self._queue_if_needed(user)
        if user.kind == "PodGroup":
            # Its claims are also those of its pods.
            for pod in self._pods.by_index(GROUP_INDEX, user.key):
                self._user_changed(claimant_of_pod(pod))

    def _queue_if_needed(self, user: Claimant) -> None:
        claim_named, group = partial(self._claim_named, user.namespace), partial(self._group, user)
        if needs_sync(user, claim_named, group, with_groups=self._with_groups):
            self._add(f"{_PREFIXES[user.kind]}{user.key}")

    def _claim_named(self, namespace: str, name: str) -> ResourceV1ResourceClaim | None:
        return self._claims.get_by_key(f"{namespace}/{name}")

    def _claim_changed(self, old: Any, new: Any) -> None:
        if new is not None:
            self._add(f"{_CLAIM}{meta_namespace_key(new)}")
        self._queue_users(_BY_CLAIM, new or old)

    def _template_changed(self, template: V1ResourceClaimTemplate) -> None:
        self._queue_users(_BY_TEMPLATE, template)

    def _queue_users(self, index: str, obj: Any) -> None:
        key = meta_namespace_key(obj)
        for pod in self._pods.by_index(index, key):
            self._user_changed(claimant_of_pod(pod))
        for group in self._groups.by_index(index, key) if self._groups is not None else ():
            self._user_changed(claimant_of_group(group))


def add_indexes(informer: Any, read: Callable[[Any], Claimant], asks: Callable[[Any], bool] = lambda _: True) -> None:
    """
    Add the indexes of pods or PodGroups by the claims and templates that they use.

    :param asks: whether an object may use any; cheaper than `read`
    """

    def keys(names: Callable[[Claimant], tuple[str, ...]], obj: Any) -> Sequence[str]:
        if not asks(obj):
            return ()
        user = read(obj)
        return [f"{user.namespace}/{name}" for name in names(user)]

    informer.add_indexers(
        {
            _BY_CLAIM: partial(keys, Claimant.claim_names),
            _BY_TEMPLATE: partial(keys, Claimant.template_names),
        }
    )
