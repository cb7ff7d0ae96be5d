"""The delta_fifo family: a DeltaFIFO whose known objects are what its popped deltas have made of a store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kinformer.cache import DeletedFinalStateUnknown, Delta, DeltaFIFO, DeltaType, Indexer
from kinformer.meta import accessor_for

_POD = accessor_for(dict)


class _GoIndexer(Indexer[dict[str, Any]]):
    """
    An indexer that lists its keys in the order of Go's maps, which is that of the queue after a resync.

    The order is no promise of client-go's, but the cases hold it: a map of up to eight keys puts a new key into the
    first free of eight slots, and usually walks them from the first.
    """

    def __init__(self) -> None:
        super().__init__(_POD)
        self._slots: list[str | None] = [None] * 8

    def update(self, obj: dict[str, Any]) -> dict[str, Any] | None:
        if (key := self.key_of(obj)) not in self._slots:
            self._slots[self._slots.index(None)] = key
        return super().update(obj)

    def delete(self, obj: dict[str, Any] | DeletedFinalStateUnknown[dict[str, Any]]) -> dict[str, Any] | None:
        if (old := super().delete(obj)) is not None:
            self._slots[self._slots.index(self.key_of(old))] = None
        return old

    def list_keys(self) -> list[str]:
        return [key for key in self._slots if key is not None]


def answer(case: Any) -> Any:
    store = _GoIndexer()
    queue: DeltaFIFO[dict[str, Any]] = DeltaFIFO(
        _POD, store, emit_delta_type_replaced=case.get("emitDeltaTypeReplaced", False)
    )
    popped: dict[str, Any] = {}

    def process(deltas: Sequence[Delta], is_in_initial_list: bool) -> None:
        for delta in deltas:
            if delta.type is DeltaType.DELETED:
                store.delete(delta.object)
            else:
                store.update(delta.object)
        popped["key"] = deltas[0].key
        popped["deltas"] = [_shown(delta) for delta in deltas]
        popped["isInInitialList"] = is_in_initial_list

    answers: list[dict[str, Any]] = []
    for step in case["ops"] or ():
        popped.clear()
        match step["op"]:
            case "add":
                queue.add(_pod(step))
            case "update":
                queue.update(_pod(step))
            case "delete":
                queue.delete(_pod(step))
            case "replace":
                queue.replace([_pod(obj) for obj in step["list"] or ()], step["rv"])
            case "resync":
                queue.resync()
            case "pop" if len(queue):
                queue.pop_nowait(process)
            case "pop":
                pass
            case other:
                raise NotImplementedError(f"unknown op {other!r}")
        answers.append({**popped, "synced": queue.has_synced})
    return answers


def same(got: Any, want: Any) -> bool:
    """Steps that are to be skipped hold nothing to compare."""
    want = want or []
    return len(got) == len(want) and all(w.get("skip") or g == w for g, w in zip(got, want, strict=True))


def _pod(step: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"namespace": "ns", "name": step["key"], "resourceVersion": step["rv"]}}


def _shown(delta: Delta) -> dict[str, Any]:
    tombstone = isinstance(delta.object, DeletedFinalStateUnknown)
    obj = delta.object.obj if tombstone else delta.object
    return {"rv": _POD.resource_version(obj) if obj else "", "tombstone": tombstone, "type": delta.type.value}
