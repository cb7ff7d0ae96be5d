"""msgspec's own functions look at the slots of a Struct, and a user's subclass has slots of its own."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import msgspec
import pytest

from kinformer.models import V1ObjectMeta, V1Pod, V1PodSpec, complete, decode, decoder_for, encode, to_dict

POD = (
    b'{"metadata":{"name":"a","managedFields":[{"manager":"m"}]},"spec":{"nodeName":"n"},"status":{"phase":"Running"}}'
)
AS_DICT = msgspec.json.decode(POD)


class LabelledPod(V1Pod):  # type: ignore[misc,unused-ignore]
    colour: str | None = None


class ShortPod(V1Pod, kw_only=True):  # type: ignore[misc,unused-ignore]
    spec: dict[str, str] | None = None
    colour: str


def pods() -> list[V1Pod]:
    """A pod of a get, and one of a watch or cache that has been completed."""
    return [decode(V1Pod, POD), complete(decoder_for(V1Pod).decode(POD))]


@pytest.mark.parametrize("pod", pods())
def test_msgspecs_functions_work_on_a_complete_object(pod: V1Pod) -> None:
    assert msgspec.to_builtins(pod) == AS_DICT
    assert msgspec.yaml.decode(msgspec.yaml.encode(pod)) == AS_DICT
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(pod)) == AS_DICT
    assert type(msgspec.structs.asdict(pod)["spec"]) is V1PodSpec
    assert msgspec.structs.replace(pod, kind="Pod").spec is pod.spec


def test_encoding_showing_and_comparing_do_not_change_a_cached_object() -> None:
    pod = decoder_for(V1Pod).decode(POD)
    other = decoder_for(V1Pod).decode(POD.replace(b":{", b": {"))

    assert to_dict({"pods": [pod]}) == {"pods": [AS_DICT]}
    assert "node_name='n'" in repr(pod)
    assert pod == other
    fields = V1Pod.__lazy_fields__
    assert all(type(fields[name].peek(one)) is msgspec.Raw for name in fields for one in (pod, other))


def test_a_struct_of_a_user_is_completed_too() -> None:
    class Projection(msgspec.Struct, frozen=True):
        metadata: V1ObjectMeta
        pods: list[V1Pod]

    text = b'{"metadata":{"managedFields":[{"manager":"m","unheardOf":1}]},"pods":[%b]}' % POD
    found = decoder_for(Projection).decode(text)

    assert msgspec.json.decode(encode(found)) == {
        "metadata": {"managedFields": [{"manager": "m"}]},
        "pods": [AS_DICT],
    }
    assert msgspec.to_builtins(complete(found))["pods"] == [AS_DICT]


@pytest.mark.parametrize("type_", [LabelledPod, ShortPod])
@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda pod: pickle.loads(pickle.dumps(pod))])
def test_a_subclass_keeps_and_compares_its_own_fields(type_: Any, copied: Any) -> None:
    pod = decoder_for(type_).decode(POD[:-1] + b',"colour":"red"}')
    other = decoder_for(type_).decode(POD[:-1] + b',"colour":"blue"}')

    assert copied(pod) == pod
    assert copied(pod).colour == "red"
    assert pod != other
    assert pod.status.phase == "Running"
    assert "colour='red'" in repr(pod)
    assert to_dict(pod) == {**AS_DICT, "colour": "red"}
