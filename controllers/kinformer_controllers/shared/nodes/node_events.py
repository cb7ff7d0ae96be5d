"""Events about nodes. They go to the namespace ``default``, as nodes have none."""

from __future__ import annotations

from typing import Final

from kinformer.models import V1Node, V1ObjectReference
from kinformer.record import NORMAL, EventRecorder

__all__ = ("NODE_CONTROLLER", "record_node_event", "record_status_change")

#: The component that the Events of the controllers of nodes are from.
NODE_CONTROLLER: Final = "node-controller"


def record_node_event(recorder: EventRecorder, node: V1Node, reason: str, event: str, type_: str = NORMAL) -> None:
    """
    Say what happened to a node.

    :param event: a sentence; the message begins with the node's name
    """
    recorder.event(_reference(node), type_, reason, f"Node {node.metadata.name} event: {event}")


def record_status_change(recorder: EventRecorder, node: V1Node, status: str) -> None:
    """
    Say that a node's status is another one now.

    :param status: a word, which is the Event's reason, too: ``NodeNotReady``
    """
    recorder.event(_reference(node), NORMAL, status, f"Node {node.metadata.name} status is now: {status}")


def _reference(node: V1Node) -> V1ObjectReference:
    return V1ObjectReference(
        api_version="v1", kind="Node", name=node.metadata.name, uid=node.metadata.uid, namespace=None
    )
