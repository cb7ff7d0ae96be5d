"""Pod control: the writes of a controller that owns pods, and the Events that tell of them.

:func:`pod_from_template` makes the pod, :class:`PodControl` creates, deletes and patches. All pods of one template are
the same until the server names them, so the pod is made once and created as often as it is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from kinformer.client import Client, PatchType
from kinformer.client.errors import ApiError, NotFound, has_status_cause
from kinformer.logs import get_logger
from kinformer.manager import SyncError
from kinformer.meta.validation import dns1123_subdomain_errors
from kinformer.models import V1ObjectMeta, V1OwnerReference, V1Pod, V1PodTemplateSpec
from kinformer.record import NORMAL, WARNING, EventRecorder
from kinformer_controllers.shared.owning.identity import OwnerId, owner_id
from kinformer_controllers.shared.owning.owners import controller_of

__all__ = (
    "FAILED_CREATE",
    "FAILED_DELETE",
    "SUCCESSFUL_CREATE",
    "SUCCESSFUL_DELETE",
    "PodControl",
    "PodControlError",
    "PodWriter",
    "is_namespace_terminating",
    "pod_from_template",
)

log = get_logger(__name__)

#: Reasons of Events, and of conditions.
FAILED_CREATE = "FailedCreate"
SUCCESSFUL_CREATE = "SuccessfulCreate"
FAILED_DELETE = "FailedDelete"
SUCCESSFUL_DELETE = "SuccessfulDelete"


class PodControlError(SyncError):
    """A pod could not be made from its template, or not be deleted."""


def pod_from_template(
    template: V1PodTemplateSpec,
    namespace: str,
    owner_name: str,
    reference: V1OwnerReference | None,
    generate_name: str = "",
) -> V1Pod:
    """
    The pod that a template describes, owned, ready to be created any number of times.

    It shares parts with the template: it is to be sent, not to be changed.

    :param owner_name: what the pods are named after
    :param reference: the owner as their controller (:func:`kinformer.meta.new_controller_ref`); None for no owner
    :param generate_name: the prefix of their names, if it is not to be the owner's
    :raises PodControlError: if the template has no labels, or `reference` does not make its owner a controller
    """
    meta = template.metadata
    if meta is None or not meta.labels:
        raise PodControlError("unable to create pods, no labels")
    if reference is not None:
        _check_reference(reference)
    return V1Pod(
        api_version="v1",
        kind="Pod",
        metadata=V1ObjectMeta(
            namespace=namespace,
            generate_name=generate_name or _name_prefix(owner_name),
            labels=meta.labels,
            annotations=meta.annotations or None,
            finalizers=meta.finalizers or None,
            owner_references=[reference] if reference is not None else None,
        ),
        spec=template.spec,
    )


def is_namespace_terminating(error: Exception) -> bool:
    """Whether a create failed because its namespace is on its way out: no other will succeed, and nobody minds."""
    return isinstance(error, ApiError) and has_status_cause(error, "NamespaceTerminating")


class PodWriter(Protocol):
    """What controllers need of pod control; tests give one that only notes what it is told."""

    async def create(self, pod: V1Pod, owner: Any) -> V1Pod:
        """Create a pod, and record an Event about `owner` for it. Errors are the client's."""

    async def delete(self, namespace: str, name: str, owner: Any) -> None:
        """
        Delete a pod, and record an Event about `owner` for it.

        :raises NotFound: if it is gone already; there is no Event for that
        :raises PodControlError: if the server refuses
        """

    async def patch(self, namespace: str, name: str, patch: dict[str, Any]) -> object:
        """Apply a strategic merge patch. Errors are the client's."""


class PodControl:
    """
    A :class:`PodWriter` on a server.

    :param wrote: told of each pod that was created or patched: its owner, and the version that it has now
    """

    __slots__ = ("_pods", "_recorder", "_wrote")

    def __init__(
        self, client: Client, recorder: EventRecorder, wrote: Callable[[OwnerId, str], object] | None = None
    ) -> None:
        self._pods = client.resource(V1Pod)
        self._recorder = recorder
        self._wrote = wrote

    async def create(self, pod: V1Pod, owner: Any) -> V1Pod:
        """See :meth:`PodWriter.create`."""
        try:
            created = await self._pods.create(pod)
        except Exception as error:
            if not is_namespace_terminating(error):
                self._recorder.event(owner, WARNING, FAILED_CREATE, f"Error creating: {error}")
            raise
        if self._wrote is not None:
            self._wrote(owner_id(owner), created.metadata.resource_version)
        self._recorder.event(owner, NORMAL, SUCCESSFUL_CREATE, f"Created pod: {created.metadata.name}")
        return created

    async def delete(self, namespace: str, name: str, owner: Any) -> None:
        """See :meth:`PodWriter.delete`."""
        try:
            await self._pods.delete(name, namespace)
        except NotFound:
            log.debug("pod_already_deleted", namespace=namespace, pod=name)
            raise
        except Exception as error:
            self._recorder.event(owner, WARNING, FAILED_DELETE, f"Error deleting: {error}")
            raise PodControlError(f"unable to delete pods: {error}") from error
        self._recorder.event(owner, NORMAL, SUCCESSFUL_DELETE, f"Deleted pod: {name}")

    async def patch(self, namespace: str, name: str, patch: dict[str, Any]) -> V1Pod:
        """See :meth:`PodWriter.patch`."""
        patched = await self._pods.patch(name, patch, namespace, patch_type=PatchType.STRATEGIC)
        owner = controller_of(patched)
        if self._wrote is not None and owner is not None:
            self._wrote(OwnerId(f"{namespace}/{owner.name}", owner.uid), patched.metadata.resource_version)
        return patched


def _check_reference(reference: V1OwnerReference) -> None:
    if not all((reference.api_version, reference.kind, reference.name, reference.uid)):
        raise PodControlError(f"the owner reference lacks an apiVersion, kind, name or uid: {reference}")
    if not (reference.controller and reference.block_owner_deletion):
        raise PodControlError(f"the owner reference to {reference.name} does not make it the pods' controller")


def _name_prefix(owner_name: str) -> str:
    """With a dash where that leaves room for one: names are prettier so."""
    prefix = f"{owner_name}-"
    # What follows the dash is the server's; any letter in its place says whether the rest is valid.
    return owner_name if dns1123_subdomain_errors(f"{prefix[:-2]}a") else prefix
