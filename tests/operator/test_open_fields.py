"""Typed objects that keep the fields which their class does not declare."""

from __future__ import annotations

import copy
import pickle
from typing import Annotated, Any

import msgspec
import pytest
from msgspec import Meta

from kinformer.cache.mutation_detector import differences
from kinformer.client import Client
from kinformer.models import (
    ObjectDecodeError,
    V1ObjectMeta,
    V1PodTemplateSpec,
    decode,
    decoder_for,
    encode,
    from_dict,
    kept_form_of,
    to_dict,
)
from kinformer.operator import CustomResource, Fields, OpenFields, OpenResource, SchemaError, install, schema_of


class Probe(Fields):
    path: str = "/"


class Part(OpenFields):
    """A part of a shop."""

    name: str
    max_size: Annotated[int, Meta(ge=1)] = 3
    probe: Probe | None = None
    template: V1PodTemplateSpec | None = None
    parts: list[Part] = []  # as in a Struct: each object has its own list

    @property
    def title(self) -> str:
        return self.name.title()


class ShopSpec(Fields):
    parts: dict[str, list[Part]] = {}  # as in a Struct


class Shop(CustomResource[ShopSpec, Part], group="example.com", version="v1", plural="shops"):
    pass


POD = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
INNER = {"name": "till", "currency": "EUR", "parts": [{"name": "drawer", "coins": [1, {"of": None}]}]}
OUTER = {"name": "shop", "maxSize": 7, "probe": {"path": "/x"}, "template": POD, "parts": [INNER], "colour": {"r": 1}}
OBJ = {
    "apiVersion": "example.com/v1",
    "kind": "Shop",
    "metadata": {"name": "s"},
    "spec": {"parts": {"all": [OUTER]}},
    "status": {"name": "open", "since": "noon"},
}


@pytest.fixture
def part() -> Part:
    return decode(Part, msgspec.json.encode(OUTER))


def test_unknown_fields_are_kept_beside_the_typed_ones(part: Part) -> None:
    assert (part.name, part.max_size, part.title, part.extra) == ("shop", 7, "Shop", {"colour": {"r": 1}})
    assert part.probe == Probe(path="/x")
    assert part.parts[0].extra == {"currency": "EUR"}
    assert part.parts[0].parts[0].extra == {"coins": [1, {"of": None}]}
    assert to_dict(part) == OUTER


def test_an_object_from_a_server_is_written_as_it_came() -> None:
    shop = decoder_for(Shop).decode(msgspec.json.encode(OBJ))

    assert to_dict(shop) == OBJ
    (outer,) = shop.spec.parts["all"]
    outer.max_size, outer.extra["colour"], outer.parts = 3, "red", []
    assert to_dict(shop)["spec"]["parts"]["all"] == [
        {"name": "shop", "probe": {"path": "/x"}, "template": POD, "colour": "red"}
    ]


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda part: pickle.loads(pickle.dumps(part))])
def test_a_copy_is_equal_and_shares_nothing(part: Part, copied: Any) -> None:
    other = copied(part)

    assert other == part
    other.parts[0].extra["currency"] = "USD"
    other.probe.path = "/y"
    assert to_dict(part) == OUTER
    assert list(differences(part, other)) == [".probe.path was changed", '.parts[0]["currency"] was changed']


def test_a_shallow_copy_has_fields_of_its_own(part: Part) -> None:
    other = copy.copy(part)
    other.name, other.extra["colour"] = "mall", "red"

    assert to_dict(part) == OUTER
    assert other != part
    assert (
        repr(Part(name="a", extra={"b": 1}))
        == "Part(name='a', max_size=3, probe=None, template=None, parts=[], extra={'b': 1})"
    )


@pytest.mark.parametrize(
    ("wrong", "path", "reason"),
    [
        ({"name": "a", "maxSize": "7"}, "spec.parts[...][0].maxSize", "Expected `int`, got `str`"),
        ({"name": "a", "parts": [{"name": 1}]}, "spec.parts[...][0].parts[0].name", "Expected `str`, got `int`"),
        ({}, "spec.parts[...][0]", "Object missing required field `name`"),
        ([1], "spec.parts[...][0]", "Expected `object`, got `array`"),
    ],
)
def test_a_value_of_a_wrong_type_is_an_error_with_its_path(wrong: Any, path: str, reason: str) -> None:
    with pytest.raises(ObjectDecodeError) as caught:
        decode(Shop, msgspec.json.encode({**OBJ, "spec": {"parts": {"all": [wrong]}}}))

    assert (caught.value.path, caught.value.reason) == (path, reason)


def test_only_closed_objects_have_misspelt_fields() -> None:
    with pytest.raises(
        ObjectDecodeError, match=r"Shop s: there is no field spec\.parts\[\"a\"\]\[0\]\.probe\.pth \(is it path\?\)"
    ):
        from_dict(Shop, {**OBJ, "spec": {"parts": {"a": [{"name": "a", "prob": 1, "probe": {"pth": 1}}]}}})


def test_an_unknown_field_cannot_have_a_declared_name(part: Part) -> None:
    with pytest.raises(ValueError, match="Part: extra has maxSize, which the class declares"):
        Part(name="a", extra={"maxSize": 1})
    part.extra["maxSize"] = 1
    with pytest.raises(ValueError, match="Part: extra has maxSize"):
        encode(Shop(metadata=V1ObjectMeta(), spec=ShopSpec(parts={"a": [part]})))


def test_a_misspelt_attribute_is_an_error(part: Part) -> None:
    with pytest.raises(AttributeError, match="maxsize"):
        part.maxsize = 1  # type: ignore[attr-defined]  # that is the test
    with pytest.raises(AttributeError, match="maxsize"):
        _ = part.maxsize  # type: ignore[attr-defined]  # that is the test
    with pytest.raises(TypeError, match='Closed has a field "extra"'):
        type("Closed", (OpenFields,), {"__annotations__": {"extra": "str"}})


def test_the_schema_says_that_unknown_fields_are_kept() -> None:
    class Small(OpenFields):
        """A small one."""

        size: int

    assert schema_of(Small) == {
        "description": "A small one.",
        "type": "object",
        "properties": {"size": {"type": "integer", "format": "int64"}},
        "required": ["size"],
        "x-kubernetes-preserve-unknown-fields": True,
    }
    with pytest.raises(SchemaError, match=r"spec\.when"):
        schema_of(type("Odd", (OpenFields,), {"__annotations__": {"when": complex}}), "spec")


class Task(OpenResource[ShopSpec | None, None], group="example.com", version="v1", plural="tasks"):
    spec: ShopSpec | None = None


def test_a_resource_from_a_file_has_its_unknown_fields() -> None:
    made = Task(metadata=V1ObjectMeta(name="a"), extra={"steps": [{"run": "x"}], "extra": "too"})
    form = kept_form_of(Task)

    assert form.decode(form.encode([made])) == [made]


@pytest.mark.parametrize("type_", [Shop, Task])
def test_a_list_is_no_resource(type_: Any) -> None:
    with pytest.raises(ObjectDecodeError, match="Expected `object`, got `array`"):
        decode(type_, b"[1]")


async def test_a_resource_keeps_unknown_fields_on_its_way(kinformer_client: Client) -> None:
    await install(kinformer_client, Task)
    tasks = kinformer_client.resource(Task)
    made = Task(
        metadata=V1ObjectMeta(name="a", namespace="default"),
        spec=ShopSpec(parts={"a": [Part(name="b", extra={"c": 1})]}),
        extra={"steps": [{"run": "x"}], "extra": "too"},
    )

    created = await tasks.create(made)
    async with tasks.watch("default", resource_version="0") as watch:
        (event, *_) = await anext(aiter(watch))
    (listed,) = (await tasks.list("default")).items
    copied = copy.deepcopy(listed)
    copied.extra["steps"] = []
    updated = await tasks.update(copied)

    assert created.extra == event.object.extra == listed.extra == made.extra
    assert (listed.spec, to_dict(listed)["extra"], updated.extra) == (made.spec, "too", {"steps": [], "extra": "too"})
    assert list(differences(listed, copied)) == ['.extra["steps"][0] was removed']
    with pytest.raises(ValueError, match="Task: extra has spec, which the class declares"):
        encode(Task(metadata=V1ObjectMeta(), extra={"spec": {}}))
    with pytest.raises(ObjectDecodeError, match=r"Task a: spec\.parts: Expected `object`, got `int`"):
        decode(Task, b'{"kind": "Task", "metadata": {"name": "a"}, "spec": {"parts": 1}, "steps": 1}')
