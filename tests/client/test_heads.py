"""Heads of events: the lines of a watch that need not be decoded."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kinformer.client.codec import ObjectCodec
from kinformer.client.heads import wanted_lines
from kinformer.client.types import BOOKMARK, WatchEvent
from kinformer.models import V1Pod

names = st.sampled_from(["a", "b", "team-1", 'quo"te', "back\\slash", "ünïcode", "uid", ""])
metas = st.fixed_dictionaries(
    {"name": names, "uid": names, "resourceVersion": st.sampled_from(["1", "2", "30"])},
    optional={
        "namespace": names,
        "generateName": names,
        "labels": st.dictionaries(names, names, max_size=2),
        "annotations": st.just({"last": '"namespace":"b","uid":"a"'}),
    },
)
CANONICAL = ["name", "generateName", "namespace", "uid", "resourceVersion", "labels", "annotations"]


@st.composite
def lines(draw: st.DrawFn) -> bytes:
    """A line of a watch of pods: in the order of Kubernetes' own types or another one, or something else."""
    meta = draw(metas)
    order = CANONICAL if draw(st.booleans()) else draw(st.permutations(CANONICAL))
    parts: dict[str, Any] = {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {name: meta[name] for name in order if name in meta},
        "spec": {"volumes": [{"metadata": {"namespace": "b", "uid": "a"}}], "containers": []},
    }
    fields = list(parts) if draw(st.booleans()) else draw(st.permutations(list(parts)))
    obj = {name: parts[name] for name in fields if name not in draw(st.sampled_from([(), ("kind", "apiVersion")]))}
    event = {"type": draw(st.sampled_from(["ADDED", "MODIFIED", "DELETED", "BOOKMARK"])), "object": obj}
    spaced = draw(st.sampled_from([(",", ":"), (", ", ": ")]))
    return json.dumps(event, separators=spaced, ensure_ascii=draw(st.booleans())).encode() + b"\n"


def wanted(namespace: str, uid: str) -> bool:
    # An object without a uid is never left out.
    return not uid or namespace in ("a", 'quo"te', "ünïcode") or uid == "team-1"


def told(events: list[WatchEvent[Any]]) -> list[tuple[str, str, str | None, str]]:
    metas = [(event.type, event.object.metadata) for event in events]
    return [(type_, meta.resource_version, getattr(meta, "uid", None), meta.namespace or "") for type_, meta in metas]


@given(st.lists(lines(), max_size=6))
def test_the_events_are_those_of_a_whole_decode_that_are_wanted(stream: list[bytes]) -> None:
    codec = ObjectCodec(V1Pod, "v1", "Pod")
    events, _ = codec.decode_events([b"".join(stream)])
    expected = [
        event
        for event in events
        if event.type == BOOKMARK or wanted(event.object.metadata.namespace or "", event.object.metadata.uid or "")
    ]
    found, failure = codec.decode_events([b"".join(stream)], wanted=wanted)
    if events and expected[-1:] != events[-1:]:
        mark = found.pop()
        assert (mark.type, mark.object.metadata.resource_version) == (
            BOOKMARK,
            events[-1].object.metadata.resource_version,
        )
    assert told(found) == told(expected)
    assert failure is None


def test_lines_that_are_not_changes_are_left_to_the_decoder() -> None:
    odd = b'{"type":"ERROR","object":{"code":410}}\nnot json\n{"type":"ADDED","object":{"metadata":{"name":"x"}}}\n'
    assert wanted_lines(odd, lambda namespace, uid: False) == (odd, "")


def test_a_line_that_is_no_text_is_left_to_the_decoder() -> None:
    line = b'{"type":"ADDED","object":{"metadata":{"name":"x","namespace":"\xff","uid":"u","resourceVersion":"7"}}}'
    assert wanted_lines(line, lambda namespace, uid: False) == (line, "")


def test_a_line_without_its_end_is_a_line() -> None:
    line = b'{"type":"ADDED","object":{"metadata":{"name":"x","uid":"u","resourceVersion":"7"}}}'
    assert wanted_lines(line, lambda namespace, uid: False) == (b"", "7")
