from __future__ import annotations

import pytest

from kinformer.cache import (
    DeletedFinalStateUnknown,
    ExplicitKey,
    Indexer,
    ObjectKeyError,
    deletion_handling_key,
    deletion_handling_object_name,
    last_state,
    meta_namespace_key_func,
)
from kinformer.meta import ObjectName, split_key
from tests.cache.objects import POD, pod


def test_a_key_is_namespace_and_name_or_the_name_alone() -> None:
    assert meta_namespace_key_func(pod("web", namespace="shop")) == "shop/web"
    assert meta_namespace_key_func(pod("node-1")) == "node-1"
    assert meta_namespace_key_func({"metadata": {"name": "web", "namespace": "shop"}}) == "shop/web"


def test_an_explicit_key_is_its_own_key() -> None:
    assert meta_namespace_key_func(ExplicitKey("shop/web")) == "shop/web"


@pytest.mark.parametrize("obj", [100, "shop/web", None, object()])
def test_what_has_no_metadata_has_no_key(obj: object) -> None:
    with pytest.raises(ObjectKeyError, match="couldn't create key for object") as caught:
        meta_namespace_key_func(obj)

    assert caught.value.obj is obj
    assert caught.value.__cause__ is not None


def test_a_tombstone_is_known_by_the_key_that_it_was_made_with() -> None:
    tombstone = DeletedFinalStateUnknown("shop/web", pod("other"))

    assert deletion_handling_key(tombstone) == "shop/web"
    assert deletion_handling_key(pod("web", namespace="shop")) == "shop/web"


@pytest.mark.parametrize(
    ("deleted", "name"),
    [
        (pod("web", namespace="shop"), ObjectName("shop", "web")),
        (pod("node-1"), ObjectName("", "node-1")),
        (DeletedFinalStateUnknown("shop/web", None), ObjectName("shop", "web")),
        (DeletedFinalStateUnknown("node-1", pod("node-1")), ObjectName("", "node-1")),
    ],
)
def test_a_deleted_object_has_a_key_even_without_its_final_state(deleted: object, name: ObjectName) -> None:
    assert deletion_handling_object_name(deleted) == name


def test_a_tombstones_key_of_three_parts_is_no_name() -> None:
    with pytest.raises(ValueError, match="unexpected key format"):
        deletion_handling_object_name(DeletedFinalStateUnknown("a/b/c", None))


@pytest.mark.parametrize("name", [ObjectName("shop", "web"), ObjectName("", "node-1"), ObjectName("", "")])
def test_a_names_text_is_the_key_and_reads_back(name: ObjectName) -> None:
    assert split_key(str(name)) == name
    assert str(name) == meta_namespace_key_func(pod(name.name, namespace=name.namespace))


def test_a_key_functions_failure_names_the_object_and_keeps_the_cause() -> None:
    def failing(_: object) -> str:
        raise RuntimeError("no key today")

    with pytest.raises(ObjectKeyError, match="no key today") as caught:
        Indexer(failing).add("an object")

    assert caught.value.obj == "an object"
    assert isinstance(caught.value.__cause__, RuntimeError)


def test_an_error_of_a_huge_object_stays_readable() -> None:
    with pytest.raises(ObjectKeyError) as caught:
        Indexer(POD).add({"spec": "x" * 100_000})  # type: ignore[arg-type]  # what is wrong with it is the point

    assert len(str(caught.value)) < 300


def test_without_a_key_function_objects_of_any_kind_have_their_usual_keys() -> None:
    indexer: Indexer[object] = Indexer()
    indexer.add(pod("web", namespace="shop"))
    indexer.add({"metadata": {"name": "node-1"}})

    assert indexer.list_keys() == ["shop/web", "node-1"]
    with pytest.raises(ObjectKeyError) as caught:
        indexer.add(7)
    assert caught.value.obj == 7


def test_the_object_of_a_delete_handler_leads_to_the_last_known_state() -> None:
    pod = {"metadata": {"name": "a", "namespace": "default"}}

    assert last_state(pod) is pod
    assert last_state(DeletedFinalStateUnknown("default/a", pod)) is pod
    unseen: DeletedFinalStateUnknown[dict[str, object]] = DeletedFinalStateUnknown("default/a")
    assert last_state(unseen) is None
