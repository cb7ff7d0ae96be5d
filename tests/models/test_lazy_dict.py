"""Lazy dicts: what lists and watches give for custom resources is a dict in all that can be asked of one."""

from __future__ import annotations

import copy
import json
import pickle
import threading
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from kinformer.client import Undecodable
from kinformer.client.codec import ObjectCodec
from kinformer.meta import accessor_for, accessor_of
from kinformer.meta.patch import apply_json_patch, create_merge_patch, merge_patch
from kinformer.models import (
    LazyDict,
    ObjectDecodeError,
    Parts,
    V1ObjectMeta,
    _lazy_dict,
    complete,
    decoder_for,
    detacher_for,
    encode,
    interner_for,
    lazy_dict,
    successor_for,
    to_dict,
)

WIDGET: dict[str, Any] = {
    "apiVersion": "example.com/v1",
    "kind": "Widget",
    "metadata": {
        "name": "one",
        "namespace": "team-1",
        "resourceVersion": "7",
        "labels": {"app": "web"},
        "annotations": {"on": "true", "text": "a longer one that stays as it is"},
        "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "u-1"}],
        "finalizers": [],
        "managedFields": [{"manager": "kubectl", "fieldsV1": {"f:spec": {}}}, {"manager": "kubelet"}],
    },
    "spec": {"size": 3, "parts": [{"name": "a"}, {"name": "b"}]},
    "status": {"ready": True, "ratio": 0.5, "since": None, "phase": "long enough to be no tiny part"},
    "type": "Opaque",
}

FIVE: Any = 5


def lazy(value: dict[str, Any] | bytes) -> LazyDict:
    return lazy_dict(decoder_for(Parts).decode(value if isinstance(value, bytes) else encode(value)))


def unread(obj: LazyDict) -> list[str]:
    return [key for key, value in dict.items(obj) if type(value) is msgspec.Raw]


# --- what it is


def test_kind_and_metadata_are_decoded_and_the_rest_when_read() -> None:
    widget = lazy(WIDGET)

    assert unread(widget) == ["spec", "status", "type"]
    assert unread(widget["metadata"]) == ["ownerReferences", "managedFields"]

    assert widget["spec"] == WIDGET["spec"]
    assert widget["metadata"].get("ownerReferences") == WIDGET["metadata"]["ownerReferences"]
    assert unread(widget) == ["status", "type"]
    assert unread(widget["metadata"]) == ["managedFields"]


def test_what_was_read_is_the_same_object_each_time() -> None:
    widget = lazy(WIDGET)

    assert widget["spec"] is widget["spec"]
    assert widget.get("status") is widget["status"]
    assert widget.setdefault("type", "other") is widget["type"]


HOLDS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "isinstance": lambda obj: isinstance(obj, dict),
    "length": len,
    "keys in order": list,
    "keys backwards": lambda obj: list(reversed(obj)),
    "keys()": lambda obj: list(obj.keys()),
    "values()": lambda obj: list(obj.values()),
    "items()": lambda obj: list(obj.items()),
    "in": lambda obj: ("spec" in obj, "other" in obj),
    "get": lambda obj: (obj.get("spec"), obj.get("other"), obj.get("other", 5)),
    "text": repr,
    "dict(...)": lambda obj: dict(obj),
    "dict(..., more)": lambda obj: dict(obj, more=1),
    "{**...}": lambda obj: {**obj},
    "f(**...)": lambda obj: (lambda **parts: parts)(**obj),
    "{}.update": lambda obj: _updated({"spec": 1, "own": 2}, obj),
    "copy()": lambda obj: obj.copy(),
    "copy.copy": copy.copy,
    "copy.deepcopy": copy.deepcopy,
    "pickle": lambda obj: pickle.loads(pickle.dumps(obj)),
    "pickle, oldest": lambda obj: pickle.loads(pickle.dumps(obj, protocol=0)),
    "json": json.dumps,
    "json, sorted and indented": lambda obj: json.dumps(obj, sort_keys=True, indent=2),
    "msgspec's JSON": lambda obj: json.loads(msgspec.json.encode(obj)),
    "the project's JSON": lambda obj: json.loads(encode([obj])),
    "to_dict": to_dict,
    "| on its left": lambda obj: obj | {"spec": 1, "own": 2},
    "| on its right": lambda obj: {"spec": 1, "own": 2} | obj,
    "| both": lambda obj: obj | obj,
    "match": lambda obj: _matched(obj),
    "== on its left": lambda obj: (obj == WIDGET, obj == {**WIDGET, "spec": {}}, obj == {}, obj == FIVE),
    "== on its right": lambda obj: (WIDGET == obj, {**WIDGET, "spec": {}} == obj, {} == obj, FIVE == obj),  # noqa: SIM300
    "!=": lambda obj: (obj != WIDGET, WIDGET != obj, obj != {**WIDGET, "spec": {}}),  # noqa: SIM300
    "== deep within": lambda obj: ([{"a": obj}] == [{"a": WIDGET}], [{"a": obj}] == [{"a": WIDGET}]),
    "hash": lambda obj: _raised(lambda: hash(obj)),
    "what is not there": lambda obj: _raised(lambda: obj["other"]),
    "pop of what is not there": lambda obj: _raised(lambda: obj.pop("other")),
}


def _updated(plain: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    plain.update(other)
    return plain


def _matched(obj: dict[str, Any]) -> Any:
    match obj:
        case {"kind": "Widget", "spec": {"size": size}, **rest}:
            return size, rest
    return None


def _raised(call: Callable[[], object]) -> str:
    with pytest.raises((KeyError, TypeError)) as raised:
        call()
    return raised.type.__name__ + str(raised.value.args[0] if raised.type is KeyError else "")


@pytest.mark.parametrize("what", HOLDS)
def test_it_does_what_a_dict_does(what: str) -> None:
    ask = HOLDS[what]

    assert ask(lazy(WIDGET)) == ask(copy.deepcopy(WIDGET))


@pytest.mark.parametrize("what", ["dict(...)", "{**...}", "copy()", "copy.copy", "| on its left", "pickle"])
def test_what_is_made_of_it_is_a_plain_dict(what: str) -> None:
    assert type(HOLDS[what](lazy(WIDGET))) is dict


@pytest.mark.parametrize("made", [copy.deepcopy, lambda obj: pickle.loads(pickle.dumps(obj))])
def test_a_deep_copy_is_plain_all_the_way_down(
    made: Callable[[LazyDict], dict[str, Any]],
) -> None:
    widget = lazy(WIDGET)
    copied = made(widget)

    assert type(copied) is type(copied["metadata"]) is dict
    assert msgspec.convert(copied, dict[str, Any]) == WIDGET
    copied["spec"]["size"] = 4
    assert widget == WIDGET


def test_a_deep_copy_decodes_nothing_for_good() -> None:
    widget = lazy(WIDGET)

    copy.deepcopy(widget)

    assert unread(widget) == ["spec", "status", "type"]


def test_a_shallow_copy_shares_its_values_with_the_original() -> None:
    widget = lazy(WIDGET)
    copied = widget.copy()

    copied["spec"]["size"] = 4

    assert widget["spec"]["size"] == 4


def test_comparing_and_showing_it_decodes_nothing_for_good() -> None:
    one, other = lazy(WIDGET), lazy(json.dumps(WIDGET, indent=1).encode())

    assert one == other
    assert repr(one) == repr(WIDGET)
    assert unread(one) == unread(other) == ["spec", "status", "type"]


def test_json_is_written_from_the_original_bytes_and_later_changes() -> None:
    widget = lazy(b'{"kind":"Widget","spec":{"size": 1},"status":{"x":  1}}')

    widget["spec"]["size"] = 2

    assert encode(widget) == b'{"kind":"Widget","spec":{"size":2},"status":{"x":  1}}'


def test_a_model_that_was_put_into_it_is_written_as_a_model() -> None:
    widget = lazy(WIDGET)
    widget["metadata"] = V1ObjectMeta(name="two")

    assert json.loads(encode(widget)) == {**WIDGET, "metadata": {"name": "two"}}


def test_completing_it_decodes_all_of_it() -> None:
    widget = complete(lazy(WIDGET))

    assert unread(widget) == unread(widget["metadata"]) == []
    assert widget == WIDGET


@pytest.mark.parametrize(
    "text",
    [b"{}", b'{"metadata":null}', b'{"metadata":[1]}', b'{"metadata":"x","kind":5}', b'{"metadata":{"labels":[]}}'],
)
def test_json_of_another_shape_is_the_same_dict(text: bytes) -> None:
    assert lazy(text) == json.loads(text)
    assert dict(lazy(text)) == json.loads(text)


@pytest.mark.parametrize("text", [b'{"a":"\xff"}', b"[1e999]", b'"\xff\xff"'])
def test_a_part_that_cannot_be_decoded_is_named_and_not_quoted(text: bytes) -> None:
    widget = lazy(b'{"kind":"Widget","metadata":{"name":"one","namespace":"ns"},"spec":%b}' % text)

    asks: list[Callable[[], object]] = [
        lambda: widget["spec"],
        lambda: widget.get("spec"),
        lambda: widget.pop("spec"),
        lambda: widget.values(),
    ]
    for ask in asks:
        with pytest.raises(ObjectDecodeError, match=r"^Widget ns/one: spec\W") as raised:
            ask()
        assert raised.value.__context__ is None
    assert "does not decode" in repr(widget)
    assert widget == widget.twin()
    assert widget != {"kind": "Widget", "metadata": {"name": "one", "namespace": "ns"}, "spec": 1}
    assert list(widget) == ["kind", "metadata", "spec"]


# --- changing it

Json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
Key = st.sampled_from(["apiVersion", "kind", "metadata", "spec", "status", "data", "other"])
Object = st.dictionaries(Key, Json, max_size=6)


@given(Object)
def test_any_json_object_is_the_same_as_its_dict(value: dict[str, Any]) -> None:
    text = json.dumps(value).encode()

    assert lazy(text) == json.loads(text)
    assert json.loads(text) == lazy(text)
    assert list(lazy(text).items()) == list(json.loads(text).items())
    assert json.dumps(lazy(text)) == json.dumps(json.loads(text))
    assert copy.deepcopy(lazy(text)) == pickle.loads(pickle.dumps(lazy(text))) == json.loads(text)
    assert complete(lazy(text)) == json.loads(text)


@given(Object, Object)
def test_two_are_equal_when_their_dicts_are(one: dict[str, Any], other: dict[str, Any]) -> None:
    one, other = (json.loads(json.dumps(value)) for value in (one, other))

    assert (lazy(json.dumps(one).encode()) == lazy(json.dumps(other).encode())) == (one == other)
    assert (lazy(json.dumps(one).encode()) != lazy(json.dumps(other, indent=1).encode())) == (one != other)


@settings(max_examples=50, stateful_step_count=30)
class BesideADict(RuleBasedStateMachine):
    """Whatever is done to a lazy dict and to a plain one, they stay the same, and each call gives the same."""

    @initialize(value=Object)
    def start(self, value: dict[str, Any]) -> None:
        text = json.dumps(value).encode()
        self.lazy: dict[str, Any] = lazy(text)
        self.plain: dict[str, Any] = json.loads(text)

    def both(self, act: Callable[[dict[str, Any]], Any]) -> None:
        results = []
        for one in (self.lazy, self.plain):
            try:
                results.append(act(one))
            except KeyError as error:
                results.append(("KeyError", error.args))
        assert results[0] == results[1]

    @rule(key=Key)
    def read(self, key: str) -> None:
        self.both(lambda one: one[key])

    @rule(key=Key, default=Json)
    def get(self, key: str, default: Any) -> None:
        self.both(lambda one: one.get(key, default))

    @rule(key=Key, value=Json)
    def assign(self, key: str, value: Any) -> None:
        self.both(lambda one: one.__setitem__(key, copy.deepcopy(value)))

    @rule(key=Key)
    def delete(self, key: str) -> None:
        self.both(lambda one: one.__delitem__(key))

    @rule(key=Key, default=Json)
    def set_default(self, key: str, default: Any) -> None:
        self.both(lambda one: one.setdefault(key, copy.deepcopy(default)))

    @rule(key=Key)
    def pop(self, key: str) -> None:
        self.both(lambda one: one.pop(key))

    @rule(key=Key, default=Json)
    def pop_or(self, key: str, default: Any) -> None:
        self.both(lambda one: one.pop(key, default))

    @rule()
    def pop_item(self) -> None:
        self.both(lambda one: one.popitem())

    @rule(other=Object, as_lazy=st.booleans())
    def update(self, other: dict[str, Any], as_lazy: bool) -> None:
        self.both(lambda one: one.update(_given(other, as_lazy), kind="Other"))

    @rule(other=Object, as_lazy=st.booleans())
    def update_in_place(self, other: dict[str, Any], as_lazy: bool) -> None:
        def act(one: dict[str, Any]) -> bool:
            before = one
            one |= _given(other, as_lazy)
            return one is before

        self.both(act)

    @rule(other=Object, as_lazy=st.booleans())
    def join(self, other: dict[str, Any], as_lazy: bool) -> None:
        self.both(lambda one: one | _given(other, as_lazy))
        self.both(lambda one: _given(other, as_lazy) | one)

    @rule()
    def clear(self) -> None:
        self.both(lambda one: one.clear())

    @rule(key=Key, value=Json)
    def change_within(self, key: str, value: Any) -> None:
        def act(one: dict[str, Any]) -> None:
            within = one.get(key)
            if isinstance(within, dict):
                within["new"] = copy.deepcopy(value)
            elif isinstance(within, list):
                within.append(copy.deepcopy(value))

        self.both(act)

    @rule()
    def go_on_with_a_twin(self) -> None:
        if isinstance(self.lazy, LazyDict):
            self.lazy = self.lazy.twin()

    @rule(make=st.sampled_from([dict, copy.copy, copy.deepcopy]))
    def copies(self, make: Callable[[Any], Any]) -> None:
        self.both(make)

    @rule(value=Json, key=Key)
    def compare(self, key: str, value: Any) -> None:
        self.both(lambda one: one == {**self.plain, key: value})

    @invariant()
    def are_the_same(self) -> None:
        if not hasattr(self, "plain"):
            return
        assert list(self.lazy) == list(self.plain)
        assert len(self.lazy) == len(self.plain)
        assert self.lazy == self.plain
        assert self.plain == self.lazy
        assert json.loads(encode(self.lazy)) == json.loads(encode(self.plain))


def _given(value: dict[str, Any], as_lazy: bool) -> dict[str, Any]:
    text = json.dumps(value).encode()
    return lazy(text) if as_lazy else json.loads(text)


TestBesideADict = BesideADict.TestCase


# --- threads


def test_threads_that_read_at_once_all_get_the_one_that_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    widget = lazy(WIDGET)
    all_decode = threading.Barrier(4, timeout=60)
    decode = _lazy_dict._decode

    def decode_together(raw: Any) -> Any:
        all_decode.wait()
        return decode(raw)

    monkeypatch.setattr(_lazy_dict, "_decode", decode_together)
    got: list[Any] = []
    threads = [threading.Thread(target=lambda: got.append(widget["spec"])) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(got) == 4
    assert all(one is widget["spec"] for one in got)


@pytest.mark.parametrize(
    ("change", "left"),
    [
        (lambda widget: widget.__setitem__("spec", "mine"), "mine"),
        (lambda widget: widget.update(spec="mine"), "mine"),
        (lambda widget: widget.__delitem__("spec"), None),
        (lambda widget: widget.clear(), None),
    ],
)
def test_a_reader_that_had_begun_before_undoes_no_change(
    change: Callable[[LazyDict], object], left: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    widget = lazy(WIDGET)
    decode = _lazy_dict._decode

    def decode_slowly(raw: Any) -> Any:
        monkeypatch.setattr(_lazy_dict, "_decode", decode)
        change(widget)
        return decode(raw)

    monkeypatch.setattr(_lazy_dict, "_decode", decode_slowly)
    assert widget["spec"] in (left, WIDGET["spec"])

    assert widget.get("spec") == left


# --- what a cache does with it


def test_lists_and_watches_of_dicts_give_them() -> None:
    codec = ObjectCodec(dict, "example.com/v1", "Widget")
    item = {name: value for name, value in WIDGET.items() if name not in ("apiVersion", "kind")}

    found = codec.decode_list(b'{"metadata":{"resourceVersion":"9"},"items":[%b]}' % encode(item))
    events, failure = codec.decode_events([b'{"type":"MODIFIED","object":%b}\n' % encode(WIDGET)])

    assert failure is None
    for widget in (found.items[0], events[0].object):
        assert type(widget) is LazyDict
        assert widget == WIDGET
    assert type(codec.decode(encode(WIDGET))) is dict


def watched(codec: ObjectCodec[dict[str, Any]], *values: dict[str, Any]) -> list[Any]:
    lines = b"".join(b'{"type":"MODIFIED","object":%b}\n' % json.dumps(value).encode() for value in values)
    events, failure = codec.decode_events([lines])
    assert failure is None
    return [event.object for event in events]


def test_a_custom_resource_is_decoded_in_one_pass_and_lazily() -> None:
    plain = {name: value for name, value in WIDGET.items() if name != "type"}
    codec = ObjectCodec(dict, "example.com/v1", "Widget")

    (widget,) = watched(codec, plain)

    assert codec._known
    assert type(widget) is type(widget["metadata"]) is LazyDict
    assert unread(widget) == ["spec", "status"]
    assert unread(widget["metadata"]) == ["ownerReferences", "managedFields"]
    assert widget == plain
    assert list(widget) == list(plain)


def test_objects_with_other_fields_are_complete_and_so_are_later_ones() -> None:
    plain = {name: value for name, value in WIDGET.items() if name != "type"}
    codec = ObjectCodec(dict, "example.com/v1", "Widget")

    assert watched(codec, plain, WIDGET, plain) == [plain, WIDGET, plain]
    assert not codec._known
    assert watched(codec, WIDGET, plain) == [WIDGET, plain]


def test_an_error_in_a_watch_says_nothing_about_the_fields_of_objects() -> None:
    plain = {name: value for name, value in WIDGET.items() if name != "type"}
    codec = ObjectCodec(dict, "example.com/v1", "Widget")
    error = b'{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"too old"}}\n'

    events, failure = codec.decode_events([b'{"type":"ADDED","object":%b}\n' % encode(plain) + error])

    assert [event.object for event in events] == [plain]
    assert failure is not None
    assert codec._known
    assert watched(codec, plain) == [plain]


@given(st.lists(Object, max_size=4))
def test_any_objects_of_a_watch_are_the_same_as_their_dicts(values: list[dict[str, Any]]) -> None:
    codec = ObjectCodec(dict, "example.com/v1", "Widget")
    plain = [json.loads(json.dumps(value)) for value in values]

    assert watched(codec, *values) == plain
    assert watched(codec, *values) == plain
    items, left_out = codec._items_of(json.dumps(values).encode())
    assert left_out == []
    filled = [{"apiVersion": "example.com/v1", "kind": "Widget", **value} for value in plain]
    assert items == filled


def test_an_object_with_undecodable_metadata_is_left_out_alone() -> None:
    codec = ObjectCodec(dict, "example.com/v1", "Widget")
    bad = b'{"metadata":{"name":"bad","annotations":{"a":"\xff"}}}'

    found = codec.decode_list(b'{"metadata":{},"items":[%b,%b]}' % (bad, encode(WIDGET)), leave_out=True)
    lines = b'{"type":"ADDED","object":%b}\n{"type":"ADDED","object":%b}\n' % (bad, encode(WIDGET))
    events, failure = codec.decode_events([lines], leave_out=True)

    assert [one.metadata.name for one in found.left_out] == ["bad"]
    assert found.items == [WIDGET]
    assert failure is None
    first, second = (event.object for event in events)
    assert isinstance(first, Undecodable)
    assert first.metadata.name == "bad"
    assert second == WIDGET


def test_detaching_copies_unread_parts_and_decodes_tiny_ones() -> None:
    widget = lazy(WIDGET)
    before = dict.__getitem__(widget, "spec")

    detacher_for(dict)(widget)

    assert unread(widget) == ["spec", "status"]
    assert dict.__getitem__(widget, "spec") is not before
    assert widget == WIDGET


def test_eager_informers_decode_all_of_it() -> None:
    widget = lazy(WIDGET)

    detacher_for(dict, eager=True)(widget)

    assert unread(widget) == unread(widget["metadata"]) == []


def test_an_object_takes_over_its_predecessors_equal_unread_parts() -> None:
    old, new = lazy(WIDGET), lazy({**WIDGET, "status": {"ready": False, "phase": "something quite different"}})
    old["spec"]
    for finish in (detacher_for(dict), interner_for(dict)):
        finish(old)

    successor_for(dict)(old, new)

    assert new["metadata"]["labels"] is old["metadata"]["labels"]
    assert new["metadata"]["annotations"] is old["metadata"]["annotations"]
    assert unread(new) == ["spec", "status"]
    assert new["spec"] == old["spec"]
    assert new["spec"] is not old["spec"]
    assert new["status"]["ready"] is False


def test_unread_bytes_that_are_the_same_are_held_once() -> None:
    old, new = lazy(WIDGET), lazy(WIDGET)
    detacher_for(dict)(old)

    successor_for(dict)(old, new)

    assert dict.__getitem__(new, "spec") is dict.__getitem__(old, "spec")


def test_a_change_to_a_cached_object_ends_with_its_next_version() -> None:
    old, new = lazy(WIDGET), lazy(WIDGET)
    old["spec"]["size"] = 99

    successor_for(dict)(old, new)

    assert new == WIDGET


@pytest.mark.parametrize("other", [{"metadata": {}}, WIDGET])
def test_a_plain_dict_in_a_cache_is_left_as_it_is(other: dict[str, Any]) -> None:
    plain = copy.deepcopy(other)

    detacher_for(dict)(plain)
    interner_for(dict)(plain)
    successor_for(dict)(plain, plain)
    successor_for(dict)(plain, lazy(WIDGET))
    successor_for(dict)(lazy(WIDGET), plain)

    assert plain == other


# --- what the rest of the project does with it

CHANGED = {**WIDGET, "spec": {"size": 4, "parts": [{"name": "a"}]}, "status": None}
PATCHES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "merge patch made": lambda obj: create_merge_patch(obj, CHANGED),
    "merge patch made of what is before": lambda obj: create_merge_patch(CHANGED, obj),
    "merge patch applied": lambda obj: merge_patch(obj, {"spec": {"size": 5}, "status": None}),
    "JSON patch applied": lambda obj: apply_json_patch(obj, [{"op": "replace", "path": "/spec/size", "value": 5}]),
    "names and versions": lambda obj: [
        (accessor.key(obj), accessor.resource_version(obj), accessor.labels(obj), accessor.owner_references(obj))
        for accessor in (accessor_for(dict), accessor_of(obj))
    ],
    "body of a request": lambda obj: json.loads(ObjectCodec(dict, "example.com/v1", "Widget").encode(obj)),
}


@pytest.mark.parametrize("what", PATCHES)
def test_patches_accessors_and_requests_take_it_for_the_dict_that_it_is(what: str) -> None:
    plain, widget = copy.deepcopy(WIDGET), lazy(WIDGET)

    assert PATCHES[what](widget) == PATCHES[what](plain)
    assert widget == plain
