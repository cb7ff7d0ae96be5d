"""Events about nodes. They are in the namespace ``default``, because a node has no namespace."""

from __future__ import annotations

from typing import Final

from kinformer.models import V1Node, V1ObjectReference
from kinformer.record import NORMAL, EventRecorder

__all__ = ("NODE_CONTROLLER", "record_node_event", "record_status_change")

#: The source component of these Events.
NODE_CONTROLLER: Final = "node-controller"


def record_node_event(recorder: EventRecorder, node: V1Node, reason: str, event: str, type_: str = NORMAL) -> None:
    """
    Record an Event about something that happened to a node.

    :param event: a sentence for the message; the node's name is put before it
    """
    recorder.event(_reference(node), type_, reason, f"Node {node.metadata.name} event: {event}")


def record_status_change(recorder: EventRecorder, node: V1Node, status: str) -> None:
    """
    Record an Event about a node's new status.

    :param status: one word such as ``NodeNotReady``. It is the Event's reason, too
    """
    recorder.event(_reference(node), NORMAL, status, f"Node {node.metadata.name} status is now: {status}")


def _reference(node: V1Node) -> V1ObjectReference:
    return V1ObjectReference(
        api_version="v1", kind="Node", name=node.metadata.name, uid=node.metadata.uid, namespace=None
    )
