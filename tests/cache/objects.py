"""Small pods for tests of stores and queues."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from kinformer.cache import Delta
from kinformer.meta import accessor_for


class Meta(msgspec.Struct, rename="camel"):
    name: str = ""
    namespace: str = ""
    resource_version: str = ""
    uid: str = ""
    labels: dict[str, str] = {}


class Pod(msgspec.Struct):
    metadata: Meta


POD = accessor_for(Pod)


def pod(name: str, version: int | str = 1, *, namespace: str = "", uid: str = "", **labels: str) -> Pod:
    return Pod(Meta(name, namespace, str(version), uid, labels))


def name_of(obj: Pod) -> str:
    return obj.metadata.name


class Known:
    """Known objects that never change."""

    def __init__(self, *pods: Pod) -> None:
        self.pods = {name_of(known): known for known in pods}

    def list_keys(self) -> list[str]:
        return list(self.pods)

    def get_by_key(self, key: str) -> Pod | None:
        return self.pods.get(key)


def changes(deltas: Sequence[Delta]) -> list[tuple[str, Any]]:
    """Deltas in few words: their types and objects."""
    return [(delta.type.value, delta.object) for delta in deltas]
