from __future__ import annotations

from typing import Any

import pytest

from kinformer.meta import GroupVersionKind, is_controlled_by
from kinformer.models import V1ConfigMap, V1ObjectMeta, V1OwnerReference
from kinformer.operator import AlreadyOwned, set_controller_reference
from tests.operator.web_apps import WebApp, web_app


def owner(uid: str = "u1", **more: Any) -> WebApp:
    app = web_app(**more)
    app.metadata.uid = uid
    return app


def config(**meta: Any) -> V1ConfigMap:
    return V1ConfigMap(metadata=V1ObjectMeta(name="c", **meta))


def test_an_object_gets_its_owner_and_its_owners_namespace() -> None:
    made = config()

    set_controller_reference(owner(), made)

    assert is_controlled_by(made, "u1")
    assert made.metadata.namespace == "default"
    assert made.metadata.owner_references[0].kind == "WebApp"


def test_a_dict_can_be_owned_and_can_own() -> None:
    made: dict[str, Any] = {"metadata": {"name": "c"}}
    set_controller_reference(owner(), made)
    assert made["metadata"]["ownerReferences"][0]["uid"] == "u1"
    assert made["metadata"]["namespace"] == "default"

    held = config()
    boss = {"metadata": {"name": "d", "namespace": "default", "uid": "u2"}}
    set_controller_reference(boss, held, GroupVersionKind("ex.io", "v1", "Boss"))
    assert held.metadata.owner_references[0].kind == "Boss"


def test_a_second_time_changes_nothing_and_other_owners_stay() -> None:
    other = V1OwnerReference(api_version="v1", kind="Node", name="n", uid="u9")
    made = config(owner_references=[other])

    set_controller_reference(owner(), made)
    set_controller_reference(owner(), made)

    assert [found.uid for found in made.metadata.owner_references or ()] == ["u9", "u1"]


def test_another_controller_stands_against_it() -> None:
    made = config()
    set_controller_reference(owner(), made)

    with pytest.raises(AlreadyOwned, match="default/c is controlled by WebApp shop: it cannot belong to default/shop2"):
        set_controller_reference(owner("u2", name="shop2"), made)


def test_an_owner_in_another_namespace_is_an_error() -> None:
    with pytest.raises(ValueError, match="elsewhere/c cannot belong to default/shop, which is in another namespace"):
        set_controller_reference(owner(), config(namespace="elsewhere"))


def test_an_owner_that_was_never_created_is_an_error() -> None:
    with pytest.raises(ValueError, match="default/shop has no uid: create it before it owns something"):
        set_controller_reference(web_app(), config())
