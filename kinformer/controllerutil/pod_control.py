"""Pod control: the writes of a controller that owns pods, and their Events.

In: a pod template and its owner. Out: pods on the server, and Events about the owner. :func:`pod_from_template` makes a
pod object. :class:`PodControl` creates, deletes and patches pods. All pods of one template are equal until the server
generates their names. So one object is made, and sent for each new pod.
"""

from __future__ import annotations

from typing import Any

from kinformer.client import Client, PatchType
from kinformer.client.errors import ApiError, NotFound, has_status_cause
from kinformer.logs import get_logger
from kinformer.manager import SyncError
from kinformer.meta.validation import dns1123_subdomain_errors
from kinformer.models import V1ObjectMeta, V1OwnerReference, V1Pod, V1PodTemplateSpec, complete, encode
from kinformer.record import NORMAL, WARNING, EventRecorder

__all__ = (
    "FAILED_CREATE",
    "FAILED_DELETE",
    "PodControl",
    "PodControlError",
    "SUCCESSFUL_CREATE",
    "SUCCESSFUL_DELETE",
    "generated_name_prefix",
    "is_namespace_terminating",
    "pod_from_template",
)


def generated_name_prefix(owner: str) -> str:
    """
    Return the prefix for generated names, from which the server makes the full name.

    It is the owner's name with a dash, or without the dash if the prefix would then not be valid. Kubernetes has the
    same rule for pods and for EndpointSlices.

    :param owner: the owner's name
    """
    prefix = f"{owner}-"
    # The server replaces what follows the prefix. So the prefix is checked with a letter in place of the last two.
    return owner if dns1123_subdomain_errors(f"{prefix[:-2]}a") else prefix


log = get_logger(__name__)

#: Reasons of Events and of conditions.
FAILED_CREATE = "FailedCreate"
SUCCESSFUL_CREATE = "SuccessfulCreate"
FAILED_DELETE = "FailedDelete"
SUCCESSFUL_DELETE = "SuccessfulDelete"


class PodControlError(SyncError):
    """A pod could not be made from its template, or could not be deleted."""


def pod_from_template(
    template: V1PodTemplateSpec,
    namespace: str,
    owner_name: str,
    reference: V1OwnerReference | None,
    generate_name: str = "",
) -> V1Pod:
    """
    Make a pod from a template, with its owner. It can be created any number of times.

    It shares parts with the template, so it must not be changed.

    :param owner_name: the owner's name, from which the names of pods are generated
    :param reference: the controller reference to the owner (:func:`kinformer.meta.new_controller_ref`); None for none
    :param generate_name: the prefix of the pods' names, if it is not made from the owner's name
    :raises PodControlError: if the template has no labels, or `reference` is not a controller reference
    """
    meta = template.metadata
    if meta is None or not meta.labels:
        raise PodControlError("unable to create pods, no labels")
    if reference is not None:
        _check_reference(reference)
    complete(template)  # otherwise its containers are decoded anew for each pod that is sent
    return V1Pod(
        api_version="v1",
        kind="Pod",
        metadata=V1ObjectMeta(
            namespace=namespace,
            generate_name=generate_name or generated_name_prefix(owner_name),
            labels=meta.labels,
            annotations=meta.annotations or None,
            finalizers=meta.finalizers or None,
            owner_references=[reference] if reference is not None else None,
        ),
        spec=template.spec,
    )


def is_namespace_terminating(error: Exception) -> bool:
    """Whether a creation failed because its namespace is being deleted. Later ones will fail, too; this is no error."""
    return isinstance(error, ApiError) and has_status_cause(error, "NamespaceTerminating")


class PodControl:
    """Writes the pods of controllers, and records an Event about the owner for each write."""

    __slots__ = ("_body", "_made", "_pods", "_recorder")

    def __init__(self, client: Client, recorder: EventRecorder) -> None:
        self._pods = client.resource(V1Pod)
        self._recorder = recorder
        self._made: V1Pod | None = None
        self._body = b""

    async def create(self, pod: V1Pod, owner: Any) -> V1Pod:
        """
        Create a pod, and record an Event about `owner` for it.

        :param pod: with its apiVersion and kind. It may be created again, but must not be changed then
        :raises ClientError: if the server refuses
        """
        try:
            if pod is not self._made:  # a ReplicaSet creates one object again and again
                self._made, self._body = pod, encode(pod)
            created = await self._pods.create(self._body, pod.metadata.namespace)
        except Exception as error:
            if not is_namespace_terminating(error):
                self._recorder.event(owner, WARNING, FAILED_CREATE, f"Error creating: {error}")
            raise
        self._recorder.event(owner, NORMAL, SUCCESSFUL_CREATE, f"Created pod: {created.metadata.name}")
        return created

    async def delete(self, namespace: str, name: str, owner: Any) -> None:
        """
        Delete a pod, and record an Event about `owner` for it.

        :raises NotFound: if the pod is already gone; then no Event is recorded
        :raises PodControlError: if the server refuses
        """
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
        """
        Apply a strategic merge patch.

        :raises ClientError: if the server refuses
        """
        return await self._pods.patch(name, patch, namespace, patch_type=PatchType.STRATEGIC)


def _check_reference(reference: V1OwnerReference) -> None:
    if not all((reference.api_version, reference.kind, reference.name, reference.uid)):
        raise PodControlError(f"the owner reference has no apiVersion, kind, name or uid: {reference}")
    if not (reference.controller and reference.block_owner_deletion):
        raise PodControlError(f"the owner reference to {reference.name} does not make it the pods' controller")
