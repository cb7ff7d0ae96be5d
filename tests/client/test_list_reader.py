from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinformer.client.codec import ObjectCodec
from kinformer.client.errors import DecodeError
from kinformer.client.list_reader import ListReader
from kinformer.models import V1ConfigMap, V1StatefulSet, to_dict
from tests.levels import TOO_MANY


def config_map(name: str, size: int) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "ns"}, "data": {"long": "x" * size}}


def stateful_set(name: str, templates: int, size: int) -> dict[str, Any]:
    """One with objects in it that begin as it begins itself."""
    claims = [{"metadata": {"name": f"claim-{n}", "annotations": {"long": "x" * size}}} for n in range(templates)]
    return {"metadata": {"name": name}, "spec": {"volumeClaimTemplates": claims}}


def body(kind: str, items: list[dict[str, Any]] | None, token: str = "") -> bytes:
    meta = {"resourceVersion": "7", **({"continue": token} if token else {})}
    return msgspec.json.encode({"kind": f"{kind}List", "apiVersion": "v1", "metadata": meta, "items": items})


class Taking:
    """Counts what has been accepted, and when."""

    def __init__(self, type_: type[Any] = V1ConfigMap, kind: str = "ConfigMap"):
        self.names: list[str] = []
        self.codec: ObjectCodec[Any] = ObjectCodec(type_, "v1", kind)
        self.reader: ListReader[Any] = self.codec.list_reader(self.accept)

    def accept(self, obj: Any) -> bool:
        self.names.append(obj["metadata"]["name"] if isinstance(obj, dict) else obj.metadata.name)
        return "unwanted" not in self.names[-1]

    def feed(self, data: bytes, step: int) -> None:
        for start in range(0, len(data), step):
            self.reader.feed(data[start : start + step])

    def read(self, data: bytes) -> list[Any]:
        with self.codec.reading_list("/x"):
            self.feed(data, 65_536)
            return self.reader.finish().items


@pytest.mark.parametrize("type_", [V1ConfigMap, dict])
def test_objects_are_accepted_while_the_list_is_still_coming(type_: type[Any]) -> None:
    items = [config_map(f"c{n}", 10_000) for n in range(100)]
    taking = Taking(type_)
    data = body("ConfigMap", items, "more")
    taking.feed(data[: len(data) // 2], 65_536)
    assert 20 < len(taking.names) < 50

    taking.feed(data[len(data) // 2 :], 65_536)
    found = taking.reader.finish()

    assert taking.names == [f"c{n}" for n in range(100)]
    assert [to_dict(item)["metadata"]["name"] for item in found.items] == taking.names
    assert (found.resource_version, found.continue_token) == ("7", "more")


def test_objects_of_a_list_are_told_what_they_are() -> None:
    taking = Taking()
    taking.feed(body("ConfigMap", [config_map(f"c{n}", 100_000) for n in range(10)]), 65_536)

    assert {(item.api_version, item.kind) for item in taking.reader.finish().items} == {("v1", "ConfigMap")}


def test_what_is_not_accepted_is_left_out() -> None:
    taking = Taking()
    names = ["a", "unwanted-1", "b", "unwanted-2"]
    taking.feed(body("ConfigMap", [config_map(name, 150_000) for name in names]), 65_536)

    assert [item.metadata.name for item in taking.reader.finish().items] == ["a", "b"]


@pytest.mark.parametrize("items", [None, []])
def test_a_list_of_nothing_has_no_items(items: list[Any] | None) -> None:
    taking = Taking()
    taking.feed(body("ConfigMap", items), 7)

    assert taking.reader.finish().items == []


def test_objects_within_objects_that_begin_alike_are_no_items() -> None:
    items = [stateful_set(f"s{n}", 9, 20_000) for n in range(12)]
    taking = Taking(V1StatefulSet, "StatefulSet")
    taking.feed(body("StatefulSet", items), 50_000)
    found = taking.reader.finish().items

    assert taking.names == [f"s{n}" for n in range(12)]
    assert all(len(item.spec.volume_claim_templates) == 9 for item in found)


def test_a_list_that_is_written_with_spaces_is_read_as_well() -> None:
    taking = Taking()
    data = msgspec.json.format(body("ConfigMap", [config_map(f"c{n}", 100_000) for n in range(6)]), indent=2)
    taking.feed(data, 65_536)

    assert [item.metadata.name for item in taking.reader.finish().items] == [f"c{n}" for n in range(6)]


def test_a_list_that_is_sent_again_is_read_from_its_beginning() -> None:
    taking = Taking()
    data = body("ConfigMap", [config_map(f"c{n}", 100_000) for n in range(6)])
    taking.feed(data[:400_000], 65_536)
    taking.reader.restart()
    taking.feed(data, 65_536)

    assert [item.metadata.name for item in taking.reader.finish().items] == [f"c{n}" for n in range(6)]


def test_a_misfit_object_is_reported_and_the_others_are_read() -> None:
    taking = Taking()
    bad = {"metadata": {"name": "bad", "namespace": "ns"}, "immutable": "canary"}
    items = [config_map("a", 100_000), bad, *(config_map(f"c{n}", 100_000) for n in range(6))]
    taking.feed(body("ConfigMap", items), 65_536)
    found = taking.reader.finish()

    assert taking.names == [item.metadata.name for item in found.items] == ["a", *(f"c{n}" for n in range(6))]
    (left_out,) = found.left_out
    assert left_out.key == "ns/bad"
    assert str(left_out.error) == "ConfigMap ns/bad: immutable: Expected `bool | null`, got `str`"
    with pytest.raises(DecodeError, match=r"from /x is not a list of V1ConfigMap: ConfigMap ns/bad: immutable"):
        taking.codec.checked(found, "/x", leave_out=False)


@pytest.mark.parametrize("type_", [V1ConfigMap, dict])
@pytest.mark.parametrize("at", [0, 1, 3])
def test_a_too_deep_object_is_reported_and_the_others_are_read(type_: type[Any], at: int) -> None:
    taking = Taking(type_)
    parts = [msgspec.json.encode(config_map(f"c{n}", 150_000)) for n in range(3)]
    parts.insert(at, b'{"metadata":{"name":"deep"},"data":%b}' % (b"[" * TOO_MANY + b"]" * TOO_MANY))
    data = b'{"metadata":{"resourceVersion":"7"},"items":[%b]}' % b",".join(parts)
    taking.feed(data, 65_536)
    found = taking.reader.finish()

    assert sorted(taking.names) == ["c0", "c1", "c2"]
    assert [str(one.error) for one in found.left_out] == ["ConfigMap deep: it is nested too deeply"]
    assert found.resource_version == "7"


@pytest.mark.parametrize("cut", [1, 50, 300_000, 500_000])
def test_a_list_that_is_cut_off_is_an_error(cut: int) -> None:
    taking = Taking()
    data = body("ConfigMap", [config_map(f"c{n}", 100_000) for n in range(6)])

    with pytest.raises(DecodeError, match="from /x is not a list"):
        taking.read(data[:-cut])


@given(
    sizes=st.lists(st.integers(0, 200_000), max_size=12),
    nested=st.lists(st.integers(0, 5), min_size=12, max_size=12),
    step=st.integers(1_000, 400_000),
)
def test_however_a_list_is_cut_into_pieces_it_is_the_list(sizes: list[int], nested: list[int], step: int) -> None:
    items = [stateful_set(f"s{n}", nested[n], size // (nested[n] or 1)) for n, size in enumerate(sizes)]
    taking = Taking(V1StatefulSet, "StatefulSet")
    data = body("StatefulSet", items)
    taking.feed(data, step)
    whole = taking.codec.decode_list(data)

    assert taking.reader.finish() == whole
    assert taking.names == [item["metadata"]["name"] for item in items]
