from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Annotated, Any, ClassVar

import pytest
from msgspec import Meta

from kinformer.client import Client, Invalid, NotFound, connect
from kinformer.envtest import ApiServer
from kinformer.models import V1Condition, V1ObjectMeta, to_dict
from kinformer.operator import (
    Column,
    CustomResource,
    DefinitionNotEstablished,
    Fields,
    Scale,
    SchemaError,
    definition_of,
    immutable,
    install,
    list_map,
    named,
    rule,
)


class ShopSpec(Fields):
    rules: ClassVar = (rule("self.least <= self.replicas", "more replicas are wanted at least than there are to be"),)

    image: Annotated[str, Meta(min_length=1), immutable()]
    replicas: Annotated[int, Meta(ge=0)] = 2
    least: int = 0


class ShopStatus(Fields):
    replicas: int = 0
    selector: str = ""
    opened: datetime | None = None
    conditions: Annotated[list[V1Condition], list_map("type")] = []


class Shop(
    CustomResource[ShopSpec, ShopStatus],
    group="example.com",
    version="v1",
    plural="shops",
    short_names=("sh",),
    categories=("all",),
    columns=(
        Column("Replicas", ".status.replicas"),
        Column("Opened", ".status.opened"),
        Column("Image", ".spec.image", priority=1),
        Column("Ready", ".status.conditions[?(@.type=='Ready')].status"),
        Column("Age", ".metadata.creationTimestamp"),
    ),
    scale=Scale(selector=".status.selector"),
):
    """A place to buy things."""


class OldShop(
    CustomResource[ShopSpec, ShopStatus],
    group="example.com",
    version="v1beta1",
    plural="shops",
    kind="Shop",
    storage=False,
    deprecated="use v1",
):
    pass


class Flag(
    CustomResource[ShopSpec, None], group="example.com", version="v1", plural="flags", namespaced=False, singular="f"
):
    pass


def version_of(*types: Any, index: int = 0) -> dict[str, Any]:
    version: dict[str, Any] = to_dict(definition_of(*types))["spec"]["versions"][index]
    return version


def shop(**spec: Any) -> Shop:
    return Shop(metadata=V1ObjectMeta(name="s", namespace="default"), spec=ShopSpec(**{"image": "i", **spec}))


@pytest.fixture
async def bare() -> AsyncIterator[Client]:
    """A client of a server that serves nothing of ours."""
    async with ApiServer(plugins=False, seed=1) as server, connect(url=server.url, token=server.token) as client:
        yield client


def test_the_definition_says_what_the_class_statement_says() -> None:
    definition = to_dict(definition_of(Shop))

    assert definition["metadata"]["name"] == "shops.example.com"
    assert definition["spec"]["scope"] == "Namespaced"
    assert definition["spec"]["names"] == {
        "plural": "shops",
        "singular": "shop",
        "kind": "Shop",
        "listKind": "ShopList",
        "shortNames": ["sh"],
        "categories": ["all"],
    }
    version = version_of(Shop)
    assert version["subresources"] == {
        "status": {},
        "scale": {
            "specReplicasPath": ".spec.replicas",
            "statusReplicasPath": ".status.replicas",
            "labelSelectorPath": ".status.selector",
        },
    }
    schema = version["schema"]["openAPIV3Schema"]
    assert schema["description"] == "A place to buy things."
    assert schema["properties"]["spec"]["properties"]["replicas"]["default"] == 2


def test_columns_have_the_types_of_their_fields() -> None:
    columns = {column["name"]: column["type"] for column in version_of(Shop)["additionalPrinterColumns"]}

    assert columns == {"Replicas": "integer", "Opened": "date", "Image": "string", "Ready": "string", "Age": "date"}


def test_a_resource_may_lack_status_and_namespace() -> None:
    definition = to_dict(definition_of(Flag))

    assert "subresources" not in definition["spec"]["versions"][0]
    assert definition["spec"]["scope"] == "Cluster"
    assert definition["spec"]["names"]["singular"] == "f"


def test_several_versions_are_one_definition() -> None:
    old = version_of(Shop, OldShop, index=1)

    assert (old["name"], old["storage"], old["deprecated"]) == ("v1beta1", False, True)
    assert old["deprecationWarning"] == "use v1"


@pytest.mark.parametrize(
    ("types", "said"),
    [
        ((), "a definition needs a class at least"),
        ((Shop, Flag), r"Flag is flags\.example\.com .* want versions of one kind"),
        ((Shop, Shop), r"shops\.example\.com has the version v1 twice"),
        ((OldShop,), r"shops\.example\.com is stored in no version: want one"),
    ],
    ids=["none", "two kinds", "twice", "not stored"],
)
def test_classes_that_are_no_one_kind_are_refused(types: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        definition_of(*types)


def test_a_path_that_leads_nowhere_is_an_error_that_names_it() -> None:
    class Broken(
        CustomResource[ShopSpec, ShopStatus],
        group="example.com",
        version="v1",
        plural="brokens",
        columns=(Column("Ready", ".status.ready"),),
    ):
        pass

    with pytest.raises(
        SchemaError, match=r"Broken: \.status\.ready: there is no field 'ready': want one of replicas, selector"
    ):
        definition_of(Broken)


async def test_a_server_serves_what_was_installed_at_once(bare: Client) -> None:
    installed = await install(bare, Shop, OldShop)

    created = await bare.resource(Shop).create(shop())
    assert installed.metadata.name == "shops.example.com"
    assert created.spec == ShopSpec(image="i", replicas=2)
    old = await bare.resource(OldShop).get("s", "default")
    assert old.api_version == "example.com/v1beta1"
    scale = await bare.resource(Shop).get_scale("s", "default")
    assert scale.spec is not None
    assert scale.spec.replicas == 2


async def test_installing_it_again_changes_nothing(bare: Client) -> None:
    first = await install(bare, Shop)

    again = await install(bare, Shop)

    assert again.metadata.resource_version == first.metadata.resource_version


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"image": ""}, "spec.image"),
        ({"replicas": -1}, "spec.replicas"),
        ({"least": 5}, "more replicas are wanted at least than there are to be"),
    ],
    ids=["a length", "a range", "a rule"],
)
async def test_the_server_checks_what_the_types_say(bare: Client, spec: dict[str, Any], said: str) -> None:
    await install(bare, Shop)

    with pytest.raises(Invalid, match=said):
        await bare.resource(Shop).create(shop(**spec))


async def test_a_field_that_cannot_be_changed_is_not(bare: Client) -> None:
    await install(bare, Shop)
    await bare.resource(Shop).create(shop())

    with pytest.raises(Invalid, match="cannot be changed"):
        await bare.resource(Shop).patch("s", {"spec": {"image": "other"}}, "default")


async def test_a_name_that_another_kind_has_is_told_as_the_reason(bare: Client) -> None:
    class Rival(CustomResource[ShopSpec, None], group="example.com", version="v1", plural="rivals", kind="Shop"):
        pass

    await install(bare, Shop)

    with pytest.raises(DefinitionNotEstablished, match=r"rivals\.example\.com is not served after 0\.3 s: .*Shop"):
        await install(bare, Rival, timeout=0.3)


async def test_without_its_definition_it_is_not_there(bare: Client) -> None:
    with pytest.raises(NotFound):
        await bare.resource(Shop).create(shop())


class Size(Fields):
    replicas: int = 1


class Shown(Fields):
    ready_replicas: int = 0
    conditions: list[V1Condition] = []


def test_columns_scale_and_selectors_may_name_attributes() -> None:
    class Named(
        CustomResource[Size, Shown],
        group="example.com",
        version="v1",
        plural="nameds",
        columns=(
            Column("Ready", "status.ready_replicas"),
            Column("Since", "status.conditions[?(@.type=='Ready')].last_transition_time", "date"),
            Column("Age", "metadata.creation_timestamp"),
        ),
        scale=Scale("spec.replicas", "status.ready_replicas"),
        selectable=("spec.replicas",),
    ):
        metadata: Annotated[V1ObjectMeta, named(max_length=40)]

    (version,) = to_dict(definition_of(Named))["spec"]["versions"]

    assert [(it["jsonPath"], it["type"]) for it in version["additionalPrinterColumns"]] == [
        (".status.readyReplicas", "integer"),
        (".status.conditions[?(@.type=='Ready')].lastTransitionTime", "date"),
        (".metadata.creationTimestamp", "date"),
    ]
    assert version["subresources"]["scale"] == {
        "specReplicasPath": ".spec.replicas",
        "statusReplicasPath": ".status.readyReplicas",
    }
    assert version["selectableFields"] == [{"jsonPath": ".spec.replicas"}]
    properties = version["schema"]["openAPIV3Schema"]["properties"]
    assert properties["metadata"]["properties"] == {"name": {"type": "string", "maxLength": 40}}
    assert properties["status"]["properties"]["conditions"]["x-kubernetes-list-map-keys"] == ["type"]


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("status.redy", r"Wrong: status\.redy: Shown has no attribute 'redy'"),
        ("status.conditions[0].reson", r"V1Condition has no attribute 'reson'"),
        ("{.status.readyReplicas}", r"Wrong: \{\.status\.readyReplicas\}: this is no path: want attributes, such as"),
    ],
)
def test_a_column_whose_path_leads_nowhere_is_an_error(path: str, error: str) -> None:
    class Wrong(
        CustomResource[Size, Shown], group="example.com", version="v1", plural="wrongs", columns=(Column("A", path),)
    ):
        pass

    with pytest.raises(SchemaError, match=error):
        definition_of(Wrong)


async def test_the_server_refuses_what_is_no_condition(client: Client) -> None:
    class Judged(CustomResource[Size, Shown], group="example.com", version="v1", plural="judgeds"):
        pass

    await install(client, Judged)
    judged = client.resource(Judged)
    await judged.create(Judged(metadata=V1ObjectMeta(name="a", namespace="default"), spec=Size()))
    condition = {"type": "Ready", "status": "Maybe", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}

    with pytest.raises(Invalid, match=r"status\.conditions\[0\]\.(reason|status)"):
        await judged.patch_status("a", {"conditions": [condition]}, "default")
