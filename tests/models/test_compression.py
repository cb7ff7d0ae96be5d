"""Objects whose parts are compressed are the same objects, whatever is done with them, in whichever order."""

from __future__ import annotations

import copy
import pickle
import random
import string
import threading
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinformer.bench.pods import pod_bytes
from kinformer.models import (
    Compression,
    ObjectDecodeError,
    V1Pod,
    V1Secret,
    _compressed,
    _compression,
    complete,
    decoder_for,
    detacher_for,
    encode,
    json_of,
    kept_form_of,
    successor_for,
    to_dict,
)
from kinformer.models._lazy import source_of

FIELDS = V1Pod.__lazy_fields__
decode = decoder_for(V1Pod).decode


def pod(number: int) -> V1Pod:
    made = decode(pod_bytes(number, alike=False).at(number + 1))
    detacher_for(V1Pod)(made)
    return made


def taught() -> Compression:
    """A compression that has learnt from pods, and compresses."""
    compression = Compression(V1Pod)
    for number in range(96):
        compression.compress(pod(number))
    assert compression.dictionaries
    return compression


COMPRESSION = taught()


def part(obj: V1Pod, field: str = "spec") -> Any:
    return FIELDS[field].peek(obj)


def compressed(number: int = 500) -> V1Pod:
    made = pod(number)
    COMPRESSION.compress(made)
    return made


def by_msgpack(obj: V1Pod) -> V1Pod:
    form = kept_form_of(V1Pod)
    (made,) = form.decode(form.encode([obj]))
    form.settle(made)
    return made


def succeeded(obj: V1Pod) -> V1Pod:
    """The same state once more, as an event brings it."""
    new = decode(encode(obj))
    successor_for(V1Pod, compressed=True)(obj, new)
    return new


def change_image(obj: V1Pod) -> V1Pod:
    obj.spec.containers[0].image = "other"
    return obj


def change_phase(obj: V1Pod) -> V1Pod:
    obj.status.phase = "Failed"
    return obj


def read(path: str) -> Callable[[V1Pod], V1Pod]:
    def reading(obj: V1Pod) -> V1Pod:
        value: Any = obj
        for name in path.split("."):
            value = getattr(value, name)
        return obj

    return reading


STEPS: list[Callable[[V1Pod], V1Pod]] = [
    read("spec.node_name"),
    read("spec.containers"),
    read("status.container_statuses"),
    change_image,
    change_phase,
    copy.copy,
    copy.deepcopy,
    lambda obj: pickle.loads(pickle.dumps(obj)),
    by_msgpack,
    succeeded,
    lambda obj: complete(copy.copy(obj)),
]
VALUES = st.text(string.printable + "äß€😀", max_size=200)


@st.composite
def pods(draw: st.DrawFn) -> bytes:
    env = draw(st.lists(st.fixed_dictionaries({"name": VALUES, "value": VALUES}), max_size=8))
    text: Any = msgspec.json.decode(pod_bytes(draw(st.integers(0, 10**6)), alike=False).at(1))
    text["spec"]["containers"][0] |= {"env": env, "args": draw(st.lists(VALUES, max_size=4))}
    text["metadata"]["annotations"] = draw(st.dictionaries(VALUES, VALUES, max_size=3))
    return msgspec.json.encode(text)


@given(text=pods(), steps=st.lists(st.tuples(st.sampled_from(STEPS), st.booleans()), max_size=6))
def test_a_compressed_object_is_the_same_through_all_that_happens(
    text: bytes, steps: list[tuple[Callable[[V1Pod], V1Pod], bool]]
) -> None:
    plain, other = decode(text), decode(text)
    COMPRESSION.compress(other)
    for step, again in steps:
        plain, other = step(plain), step(other)
        if again:
            COMPRESSION.compress(other)
        assert other == plain

    assert encode(other) == encode(plain)
    assert repr(other) == repr(plain)


def test_a_compressed_part_is_small_and_has_the_same_bytes() -> None:
    plain, small = pod(500), compressed()

    for field in FIELDS:
        assert len(part(small, field)) < len(part(plain, field)) / 8
        assert bytes(json_of(part(small, field))) == bytes(part(plain, field))


def test_a_part_that_is_read_keeps_its_large_parts_compressed() -> None:
    small, plain = compressed(), pod(500)
    containers = type(small.spec).__lazy_fields__["containers"]
    assert plain.spec is not None

    assert len(containers.peek(small.spec)) < len(containers.peek(plain.spec)) / 4
    assert small.spec.containers == plain.spec.containers


def test_a_part_that_was_read_is_compressed_where_nobody_has_read_it() -> None:
    obj = pod(500)
    containers = type(obj.spec).__lazy_fields__["containers"]
    before = len(containers.peek(obj.spec))

    COMPRESSION.compress(obj)

    assert len(containers.peek(obj.spec)) < before / 4
    assert source_of(obj.spec) is None
    assert to_dict(obj) == to_dict(pod(500))


def test_the_next_object_takes_over_only_parts_with_the_same_bytes() -> None:
    old = compressed()
    text = pod_bytes(500, alike=False).at(2).replace(b'"restartCount":0', b'"restartCount":1', 1)
    new = decode(text)

    successor_for(V1Pod, compressed=True)(old, new)

    assert part(new) is part(old)
    assert part(new, "status") is not part(old, "status")
    assert to_dict(new)["status"]["containerStatuses"][0]["restartCount"] == 1
    assert new.spec == pod(500).spec


def test_a_pickle_can_be_read_where_the_dictionary_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    unread, was_read = pickle.dumps(compressed()), compressed()
    assert was_read.spec.node_name
    read = pickle.dumps(was_read)
    monkeypatch.setattr(_compressed, "dictionaries", {})

    assert pickle.loads(unread) == pickle.loads(read) == pod(500)


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda text: text[:-9], "its compressed bytes are damaged"),
        (lambda text: text[:30] + bytes(len(text) - 30), "its compressed bytes are damaged"),
        (lambda text: text[:6] + b"none" + text[10:], "the dictionary that it was compressed with is not here"),
        (lambda text: text[:12], "JSON is malformed: invalid character (byte 0)"),
    ],
)
def test_a_damaged_part_is_an_error_that_names_the_object(damage: Callable[[bytes], bytes], reason: str) -> None:
    obj = compressed()
    FIELDS["spec"].poke(obj, msgspec.Raw(damage(bytes(part(obj)))))

    with pytest.raises(ObjectDecodeError) as raised:
        _ = obj.spec
    assert str(raised.value) == f"team-00/web-0000500: spec: {reason}".replace("team", "Pod team")


def test_threads_may_read_while_parts_are_compressed() -> None:
    objects, plain = [pod(number) for number in range(200)], [pod(number) for number in range(200)]
    begin = threading.Barrier(4)
    seen: list[list[Any]] = []

    def read_all() -> None:
        begin.wait(10)
        seen.append([(obj.status.container_statuses, obj.spec.containers) for obj in objects])

    readers = [threading.Thread(target=read_all) for _ in range(3)]
    for reader in readers:
        reader.start()
    begin.wait(10)
    for obj in objects:
        COMPRESSION.compress(obj)
    for reader in readers:
        reader.join()

    assert objects == plain
    first, *others = seen
    for other in others:
        assert all(a is b for one, two in zip(first, other, strict=True) for a, b in zip(one, two, strict=True))


def test_types_with_few_objects_get_no_dictionary() -> None:
    compression = Compression(V1Pod)
    objects = [pod(number) for number in range(90)]
    for _ in range(3):
        compression.begin_pass()
        for obj in objects:
            compression.compress(obj)

    assert compression.dictionaries == []
    assert objects == [pod(number) for number in range(90)]


def noise(size: int, seed: int) -> str:
    return "".join(random.Random(seed).choices(string.ascii_letters + string.digits, k=size))


def test_objects_that_do_not_become_small_are_not_compressed_any_more() -> None:
    compression, read = Compression(V1Secret), decoder_for(V1Secret).decode
    number = 0
    while not compression.is_over:
        number += 1
        text = b'{"metadata":{"name":"a"},"data":{"a":"%b"}}' % noise(4000, number).encode()
        compression.compress(read(text))
        assert number < 5000
    assert len(compression.dictionaries) <= 4

    last = read(text)
    compression.compress(last)
    assert V1Secret.__lazy_fields__["data"].peek(last) == V1Secret.__lazy_fields__["data"].peek(read(text))


def test_dictionaries_of_earlier_processes_count_among_the_four() -> None:
    compression, read = Compression(V1Secret), decoder_for(V1Secret).decode
    for seed in range(4):
        compression.adopt(noise(1000, seed).encode())
    number = 0
    while not compression.is_over:
        number += 1
        compression.compress(read(b'{"metadata":{"name":"a"},"data":{"a":"%b"}}' % noise(4000, number).encode()))
        assert number < 1000

    assert len(compression.dictionaries) == 4


def test_two_threads_may_come_to_judge_one_dictionary() -> None:
    compression = taught()
    compression._before = _compression._WINDOW

    compression._judge()
    compression._judge()

    assert len(compression.dictionaries) == 1
    assert not compression.is_over


def test_another_dictionary_is_made_when_objects_become_different() -> None:
    compression = taught()

    def other(number: int) -> V1Pod:
        text: Any = msgspec.json.decode(pod_bytes(number).at(1))
        text["spec"]["containers"][0]["env"] = [
            {"name": noise(20, seed), "value": noise(40, seed + 1000)} for seed in range(number % 50, number % 50 + 20)
        ]
        return decode(msgspec.json.encode(text))

    def size_of(number: int) -> int:
        obj = other(number)
        compression.compress(obj)
        return len(part(obj))

    for number in range(500):
        compression.compress(pod(number))
    before = size_of(0)
    for number in range(1000):
        size_of(number)

    assert len(compression.dictionaries) == 2
    assert size_of(0) < before / 2
