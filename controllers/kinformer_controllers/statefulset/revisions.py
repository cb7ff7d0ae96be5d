"""The revisions of a StatefulSet: the current one of its pods, the one they are updated to, and the old ones.

A ControllerRevision has the pod template as a patch of the StatefulSet. A changed template makes a new revision. If an
earlier template is used again, its old revision becomes the newest one, so that a rollback uses the old name.
"""

from __future__ import annotations

import copy
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, cast

from kinformer.cache import SharedIndexInformer
from kinformer.client import Client
from kinformer.client.errors import NotFound
from kinformer.manager import SyncError
from kinformer.meta import Selector, get_controller_of
from kinformer.models import V1ControllerRevision, V1PodTemplateSpec, V1StatefulSet, from_dict, to_dict
from kinformer_controllers.shared.history.revisions import (
    RevisionHistory,
    equal_revisions,
    new_revision,
    next_revision,
    same_revision,
    sorted_revisions,
    template_patch,
)
from kinformer_controllers.statefulset.pods import KIND, Version, revision_of

__all__ = ("Revisions", "StatefulSetRevisions", "restore", "revision_data")


#: Integers below this one are the same in floating point.
_EXACT: Final = 2**53


@dataclass(frozen=True, slots=True)
class Revisions:
    """
    The revisions of one StatefulSet.

    :ivar current: the version that pods were made from
    :ivar update: the version that new pods are made from
    :ivar collisions: how often the name of a revision was taken
    :ivar known: all revisions before this sync; the newest is last
    """

    current: Version
    update: Version
    collisions: int
    known: list[V1ControllerRevision]


class StatefulSetRevisions:
    """
    Finds, creates and deletes the revisions of StatefulSets.

    :param informer: of ControllerRevisions
    """

    def __init__(self, client: Client, informer: SharedIndexInformer[V1ControllerRevision]) -> None:
        self._history = RevisionHistory(client, KIND, informer)

    async def adopt_orphans(
        self, statefulset: V1StatefulSet, selector: Selector, can_adopt: Callable[[], Awaitable[object]]
    ) -> None:
        """
        Adopt the revisions that match the selector and have no controller.

        :param can_adopt: awaited before the first adoption; raises an error if nothing may be adopted
        """
        orphans = [one for one in self._history.list(statefulset, selector) if get_controller_of(one) is None]
        if orphans:
            await can_adopt()
        for orphan in orphans:
            await self._history.adopt(statefulset, orphan)

    async def of(self, statefulset: V1StatefulSet, selector: Selector) -> Revisions:
        """
        Return the revisions of a StatefulSet. A missing one is created.

        :raises ClientError: if a revision could not be written
        """
        known = sorted_revisions(self._history.list(statefulset, selector))
        collisions = (statefulset.status.collision_count if statefulset.status is not None else None) or 0
        wanted = _wanted(statefulset, next_revision(known), collisions)
        equal = equal_revisions(known, wanted)
        if equal and same_revision(known[-1], equal[-1]):
            update = known[-1]
        elif equal:
            update = await self._history.renumber(equal[-1], wanted.revision)
        elif known and _says_the_same(known[-1], wanted):
            update = known[-1]
        else:

            def collided(count: int) -> None:
                nonlocal collisions
                collisions = count

            update = await self._history.create(statefulset, wanted, collisions, collided)
        name = statefulset.status.current_revision if statefulset.status is not None else None
        current = next((one for one in known if one.metadata.name == name), update)
        update_version = _version(statefulset, update, is_its_own=True)
        is_current = current.metadata.name == update.metadata.name
        return Revisions(
            update_version if is_current else _version(statefulset, current), update_version, collisions, known
        )

    async def truncate(self, statefulset: V1StatefulSet, revisions: Revisions, pods: Iterable[Any]) -> None:
        """Delete the oldest revisions that no pod uses, until only ``revisionHistoryLimit`` of them are left."""
        limit = statefulset.spec.revision_history_limit
        if limit is None or limit < 0:
            return
        live = {revisions.current.revision, revisions.update.revision, *map(revision_of, pods)}
        old = [one for one in revisions.known if one.metadata.name not in live]
        for one in old[: max(len(old) - limit, 0)]:
            try:
                await self._history.delete(one)
            except NotFound:
                continue


def revision_data(statefulset: V1StatefulSet) -> dict[str, Any]:
    """
    Return a revision's data: a patch that replaces the template by the StatefulSet's.

    Kubernetes makes it from numbers of 64-bit floating point. (For DaemonSets it does not.)
    """
    return cast("dict[str, Any]", _through_floats(template_patch(statefulset.spec.template)))


def _through_floats(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _through_floats(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_through_floats(each) for each in value]
    # Go writes the shortest digits that stand for the same floating-point number, and fills up with zeros.
    return int(Decimal(repr(float(value)))) if type(value) is int and abs(value) >= _EXACT else value


def restore(statefulset: V1StatefulSet, revision: V1ControllerRevision) -> V1StatefulSet:
    """
    Return the StatefulSet with the template of a revision. If the revision has no template, nothing is changed.

    :raises SyncError: if the revision has something else in place of the template
    """
    restored = copy.copy(statefulset)
    restored.spec = copy.copy(statefulset.spec)
    if _keeps_template(revision):
        restored.spec.template = _template_of(revision)
    return restored


def _keeps_template(revision: V1ControllerRevision) -> bool:
    """Whether a revision has a value in place of the template."""
    spec = revision.data.get("spec", {}) if isinstance(revision.data, dict) else {}
    return not isinstance(spec, dict) or "template" in spec


def _wanted(statefulset: V1StatefulSet, number: int, collisions: int) -> V1ControllerRevision:
    template = statefulset.spec.template
    labels = (template.metadata.labels if template.metadata is not None else None) or {}
    wanted = new_revision(statefulset, KIND, labels, revision_data(statefulset), number, collisions)
    if statefulset.metadata.annotations:
        wanted.metadata.annotations = dict(statefulset.metadata.annotations)
    return wanted


def _version(statefulset: V1StatefulSet, revision: V1ControllerRevision, *, is_its_own: bool = False) -> Version:
    """
    Return the version of a revision.

    :param is_its_own: whether the revision has the same template as the StatefulSet
    """
    name: str = revision.metadata.name
    return Version(name, statefulset if is_its_own else restore(statefulset, revision))


def _says_the_same(revision: V1ControllerRevision, wanted: V1ControllerRevision) -> bool:
    """
    Whether two revisions have the same template in different notation.

    Controllers before Kubernetes 1.34 wrote ``creationTimestamp: null``; newer ones leave it out. This difference must
    not replace all pods.
    """
    try:
        return to_dict(_template_of(revision)) == to_dict(_template_of(wanted))
    except SyncError:
        return False


def _template_of(revision: V1ControllerRevision) -> V1PodTemplateSpec:
    name = revision.metadata.name
    try:
        template = {**revision.data["spec"]["template"]}
        template.pop("$patch", None)
        return from_dict(V1PodTemplateSpec, template)
    except (TypeError, KeyError, ValueError) as error:
        raise SyncError(f"ControllerRevision {name} does not keep the template of a StatefulSet: {error}") from error
