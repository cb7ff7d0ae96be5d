"""What the user of a world may apply."""

from __future__ import annotations

from typing import Any

import kubernetes_asyncio.client
import msgspec
import pytest

from kinformer.models import V1ObjectMeta, V1Pod
from kinformer.simulation.user import manifests_of

POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}


class Web(msgspec.Struct, rename="camel"):
    metadata: dict[str, str]
    api_version: str = "example.com/v1"
    kind: str = "Web"


@pytest.mark.parametrize(
    ("given", "manifest"),
    [
        (POD, POD),
        ("apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n", POD),
        (V1Pod(metadata=V1ObjectMeta(name="p")), POD),
        (kubernetes_asyncio.client.V1Pod(api_version="v1", kind="Pod", metadata={"name": "p"}), POD),
        (Web({"name": "w"}), {"apiVersion": "example.com/v1", "kind": "Web", "metadata": {"name": "w"}}),
    ],
)
def test_an_object_of_any_type_that_has_a_kind_is_a_manifest(given: Any, manifest: dict[str, Any]) -> None:
    assert list(manifests_of([given])) == [manifest]


@pytest.mark.parametrize("given", [5, ["p"], kubernetes_asyncio.client.V1Pod(metadata={"name": "p"})])
def test_what_has_no_kind_is_an_error_that_shows_it(given: Any) -> None:
    with pytest.raises(ValueError, match="a manifest needs apiVersion, kind and a name: "):
        list(manifests_of([given]))
