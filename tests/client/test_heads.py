"""Heads of events: the lines of a watch that need not be decoded."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinformer.client import heads
from kinformer.client.codec import ObjectCodec
from kinformer.client.heads import Wanted, keep_wanted
from kinformer.client.types import BOOKMARK, WatchEvent
from kinformer.meta import get_controller_of
from kinformer.models import V1Pod

names = st.sampled_from(["a", "b", "team-1", 'quo"te', "back\\slash", "ünïcode", "uid", ""])
references = st.fixed_dictionaries({"name": names, "uid": names}, optional={"controller": st.booleans()})
metas = st.fixed_dictionaries(
    {"name": names, "uid": names, "resourceVersion": st.sampled_from(["1", "2", "30"])},
    optional={
        "namespace": names,
        "generateName": names,
        "labels": st.dictionaries(names, names, max_size=2),
        "annotations": st.just({"last": '"namespace":"b","uid":"a","ownerReferences":[{"uid":"a","controller":true}]'}),
        "ownerReferences": st.lists(references, max_size=2),
        "finalizers": st.just(["a"]),
    },
)
OTHERS = {"ownerReferences": [{"uid": "b", "controller": True}]}
CANONICAL = [
    "name",
    "generateName",
    "namespace",
    "uid",
    "resourceVersion",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
]


@st.composite
def lines(draw: st.DrawFn) -> bytes:
    """A line of a watch of pods: in the order of Kubernetes' own types or another one, or something else."""
    meta = draw(metas)
    order = CANONICAL if draw(st.booleans()) else draw(st.permutations(CANONICAL))
    parts: dict[str, Any] = {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {name: meta[name] for name in order if name in meta},
        "spec": {
            "volumes": [{"metadata": {"namespace": "b", "uid": "a", **OTHERS}}],
            "containers": [],
        },
    }
    fields = list(parts) if draw(st.booleans()) else draw(st.permutations(list(parts)))
    obj = {name: parts[name] for name in fields if name not in draw(st.sampled_from([(), ("kind", "apiVersion")]))}
    event = {"type": draw(st.sampled_from(["ADDED", "MODIFIED", "DELETED", "BOOKMARK"])), "object": obj}
    spaced = draw(st.sampled_from([(",", ":"), (", ", ": ")]))
    return json.dumps(event, separators=spaced, ensure_ascii=draw(st.booleans())).encode() + b"\n"


def accepted(namespace: str, uid: str, owner: str) -> bool:
    return namespace in ("a", 'quo"te', "ünïcode") or uid == "team-1"


def accepted_by_namespace(namespace: str, uid: str, owner: str) -> bool:
    return namespace in ("a", 'quo"te', "ünïcode")


def accepted_by_owner(namespace: str, uid: str, owner: str) -> bool:
    return not owner or owner in ("a", 'quo"te', "ünïcode")


def sifted(lines: bytes, wanted: Wanted) -> tuple[bytes, str]:
    kept: list[Any] = []
    passed = keep_wanted(lines, 0, len(lines), wanted, kept)
    return b"".join(kept), passed.decode()


NONE = Wanted(lambda namespace, uid, owner: False)


def told(events: list[WatchEvent[Any]]) -> list[tuple[str, str, str | None, str]]:
    metas = [(event.type, event.object.metadata) for event in events]
    return [(type_, meta.resource_version, getattr(meta, "uid", None), meta.namespace or "") for type_, meta in metas]


def told_of(event: WatchEvent[V1Pod]) -> tuple[str, str, str]:
    controller = get_controller_of(event.object)
    meta = event.object.metadata
    return meta.namespace or "", meta.uid or "", controller.uid if controller is not None else ""


@pytest.mark.parametrize(
    "wanted",
    [
        Wanted(accepted),
        Wanted(accepted_by_namespace, by_namespace=True),
        Wanted(accepted_by_owner, by_owner=True),
    ],
    ids=["by-both", "by-namespace", "by-owner"],
)
@given(stream=st.lists(lines(), max_size=6))
def test_the_events_are_those_of_a_whole_decode_that_are_wanted(wanted: Wanted, stream: list[bytes]) -> None:
    codec = ObjectCodec(V1Pod, "v1", "Pod")
    events, _ = codec.decode_events([b"".join(stream)])
    # An object without a uid is never left out.
    expected = [
        event
        for event in events
        if event.type == BOOKMARK or not event.object.metadata.uid or wanted.accepts(*told_of(event))
    ]
    lines, passed = sifted(b"".join(stream), wanted)
    found, failure = codec.decode_events([lines], passed=passed)
    if events and expected[-1:] != events[-1:]:
        mark = found.pop()
        assert (mark.type, mark.object.metadata.resource_version) == (
            BOOKMARK,
            events[-1].object.metadata.resource_version,
        )
    assert told(found) == told(expected)
    assert failure is None


def test_a_namespace_is_found_also_behind_the_version() -> None:
    meta = b'{"name":"x","uid":"u","resourceVersion":"7","namespace":"a"}'
    line = b'{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":' + meta + b"}}\n"

    assert sifted(line, Wanted(accepted)) == (line, "")


def test_lines_that_are_not_changes_are_left_to_the_decoder() -> None:
    odd = b'{"type":"ERROR","object":{"code":410}}\nnot json\n{"type":"ADDED","object":{"metadata":{"name":"x"}}}\n'
    assert sifted(odd, NONE) == (odd, "")


def test_a_line_that_is_no_text_is_left_to_the_decoder() -> None:
    line = b'{"type":"ADDED","object":{"metadata":{"name":"x","namespace":"\xff","uid":"u","resourceVersion":"7"}}}'
    assert sifted(line, NONE) == (line, "")


def test_a_line_without_its_end_is_a_line() -> None:
    line = b'{"type":"ADDED","object":{"metadata":{"name":"x","uid":"u","resourceVersion":"7"}}}'
    assert sifted(line, NONE) == (b"", "7")


def change(namespace: str, version: int) -> bytes:
    meta = f'{{"name":"x","namespace":"{namespace}","uid":"u","resourceVersion":"{version}"}}'
    return f'{{"type":"MODIFIED","object":{{"metadata":{meta}}}}}\n'.encode()


def test_a_namespace_is_asked_about_once_until_it_is_forgotten() -> None:
    asked: list[str] = []

    def never(namespace: str, uid: str, owner: str) -> bool:
        asked.append(namespace)
        return False

    wanted = Wanted(never, by_namespace=True)
    lines = change("a", 1) + change("b", 2) + change("a", 3)

    for _ in range(2):
        sifted(lines, wanted)
    wanted.forget()
    sifted(lines, wanted)

    assert asked == ["a", "b", "a", "b"]


def test_the_answers_about_many_namespaces_do_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heads, "_MOST_ANSWERS", 3)
    wanted = Wanted(accepted_by_namespace, by_namespace=True)
    lines = b"".join(change(f"team-{number}", number) for number in range(10)) + change("a", 11)

    assert sifted(lines, wanted) == (change("a", 11), "")
    assert wanted.by_namespace is not None
    assert len(wanted.by_namespace) <= 3


def test_lines_beside_those_that_are_looked_at_are_left_alone() -> None:
    kept: list[Any] = []
    before, lines, after = change("a", 1), change("b", 2) + change("a", 3) + change("b", 4), change("a", 5)

    passed = keep_wanted(
        before + lines + after,
        len(before),
        len(before + lines),
        Wanted(accepted_by_namespace, by_namespace=True),
        kept,
    )

    assert (b"".join(kept), passed) == (change("a", 3), b"4")
