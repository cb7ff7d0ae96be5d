"""Everything of a field decoded in one pass: the same value, the same error, as decoded part by part."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

import kinformer.models
from kinformer.models import (
    ObjectDecodeError,
    V1Pod,
    _build,
    complete,
    decoder_for,
    detacher_for,
    encode,
    successor_for,
)
from kinformer.models._complete import leads_to_lazy, unread
from kinformer.models._lazy import _OFTEN, LazyField
from kinformer.models._source import CONTAINER, model_names, shape_of

SCALARS: dict[str, Any] = {
    "str": "text",
    "int": 7,
    "float": 1.5,
    "bool": True,
    "object": {"any": ["thing", None]},
    "datetime": "2026-01-02T03:04:05Z",
}


def filled(type_: str, depth: int = 7) -> Any:
    """A value of a type in which every field is set, down to a depth."""
    if type_ in SCALARS:
        return SCALARS[type_]
    if container := CONTAINER.fullmatch(type_):
        if container["item"]:
            return [filled(container["item"], depth)] * 2
        return {"key": filled(container["value"], depth)}
    if type_ not in model_names() or not depth:
        return {}
    shape = shape_of(type_)
    return {shape.json_names[name]: filled(held, depth - 1) for name, held in shape.types.items()}


def often_read(field: LazyField) -> LazyField:
    """The field after it was decoded completely so often that it has a reader for that."""
    field._read_all = field._read_all or field._make_reader_of_all()
    return field


def read_by_parts(field: LazyField, obj: object) -> bool:
    field.read(obj)
    return False


def pods(*statuses: dict[str, Any]) -> list[V1Pod]:
    spec = {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]}
    return [decoder_for(V1Pod).decode(encode({"spec": spec, "status": status})) for status in statuses]


def test_any_field_decoded_at_once_is_the_same_as_part_by_part() -> None:
    tried = set()
    for name in model_names():
        model: Any = getattr(kinformer.models, name)
        for attribute, field in model.__lazy_fields__.items():
            type_ = model.openapi_types[attribute]
            if not leads_to_lazy(type_):
                continue
            data = encode({field.json_name: filled(type_)})
            one, other = decoder_for(model).decode(data), decoder_for(model).decode(data)
            assert often_read(field).read_all(one), f"{name}.{attribute} was not decoded at once"
            assert [found for _, found in unread(one) if found is field] == []
            assert field.peek(one) == complete(field.look(other)), f"{name}.{attribute}"
            assert encode(one) == encode(complete(other)), f"{name}.{attribute}"
            tried.add(f"{name}.{attribute}")
    assert tried >= {"V1Pod.spec", "V1Pod.status", "V1StatefulSet.spec", "V1CronJob.spec", "V1Node.status"}


@pytest.mark.parametrize("at_once", [False, True])
def test_what_does_not_fit_is_one_error_that_names_the_place(at_once: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    (pod,) = pods({"conditions": [{"type": "Ready", "status": ["no text"]}]})
    often_read(V1Pod.__lazy_fields__["status"])
    if not at_once:
        monkeypatch.setattr(LazyField, "read_all", read_by_parts)

    with pytest.raises(ObjectDecodeError) as raised:
        complete(pod)

    assert str(raised.value) == "Pod: status.conditions[0].status: Expected `str | null`, got `array`"
    assert raised.value.__context__ is None  # it would quote the object


def test_what_is_decoded_at_once_shares_the_strings_that_recur() -> None:
    detach = detacher_for(V1Pod, eager=True)
    found = pods(*[{"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}] * 2)
    for field in V1Pod.__lazy_fields__.values():
        often_read(field)
    for pod in found:
        detach(pod)

    one, other = found
    assert one.spec.node_name is other.spec.node_name
    assert one.spec.containers[0].image is other.spec.containers[0].image
    assert one.status.phase is other.status.phase
    assert one.status.conditions[0].type is other.status.conditions[0].type


def test_an_eager_informer_soon_decodes_each_part_in_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    succeed = successor_for(V1Pod, eager=True)
    old, *others = pods(*({"conditions": [{"message": str(number)}]} for number in range(_OFTEN + 2)))
    detacher_for(V1Pod, eager=True)(old)
    by_parts = []
    decoded = LazyField.decoded

    def decoding(field: LazyField, obj: object, raw: msgspec.Raw) -> object:
        by_parts.append(field.json_name)
        return decoded(field, obj, raw)

    for new in others:
        by_parts.clear()
        with monkeypatch.context() as patched:
            patched.setattr(LazyField, "decoded", decoding)
            succeed(old, new)
        assert list(unread(new)) == []
        old = new
    assert by_parts == []
    assert old.status.conditions[0].message == str(_OFTEN + 1)


def test_where_a_class_cannot_be_set_all_is_decoded_part_by_part(monkeypatch: pytest.MonkeyPatch) -> None:
    field = V1Pod.__lazy_fields__["spec"]
    monkeypatch.setattr(_build, "can_retype", lambda: False)
    monkeypatch.setattr(field, "_read_all", None)
    monkeypatch.setattr(field, "_times", 0)

    for pod in pods(*[{}] * (_OFTEN + 2)):
        assert not field.read_all(pod)
        assert [found for _, found in unread(pod.spec)] != []
        assert complete(pod).spec.containers[0].name == "c"
