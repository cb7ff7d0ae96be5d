"""Scales of targets of any kind."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kinformer.client import ApiResource, Client
from kinformer.client.errors import NotFound
from kinformer.client.status import Status
from kinformer.meta import GroupKind, GroupVersionResource
from kinformer.models import V1Scale, V2CrossVersionObjectReference, from_dict
from kinformer_controllers.horizontalpodautoscaler.scales import Scales
from kinformer_controllers.shared.scale_selector import UnreadableScale

WEB = V2CrossVersionObjectReference(api_version="example.com/v1", kind="Web", name="w")


class Server:
    """
    Serves a kind as resources, of which some have a scale.

    :ivar asked: the resources and versions whose scale was asked for
    """

    def __init__(self, served: str, having: str, selector: str = "app=a") -> None:
        self._served, self._having, self._selector = served.split(), having, selector
        self.asked: list[str] = []
        self.discovery = SimpleNamespace(resources_for_kind=self.kinds)

    @property
    def scales(self) -> Scales:
        fake: Any = self
        client: Client = fake
        return Scales(client)

    async def kinds(self, kind: GroupKind) -> list[ApiResource]:
        pairs = [one.split("/") for one in self._served]
        return [ApiResource(GroupVersionResource(kind.group, *pair), kind.kind, namespaced=True) for pair in pairs]

    def resource(self, type_: type[Any], gvr: GroupVersionResource, *, namespaced: bool) -> Any:
        async def get_scale(name: str, namespace: str) -> V1Scale:
            self.asked.append(f"{gvr.version}/{gvr.resource}")
            if gvr.resource != self._having:
                raise NotFound(Status(code=404, message=f"no scale of {gvr.resource}"))
            read = {"spec": {"replicas": 3}, "status": {"replicas": 2, "selector": self._selector}}
            return from_dict(V1Scale, read)

        return SimpleNamespace(get_scale=get_scale)


async def test_each_resource_of_a_kind_is_tried_once() -> None:
    server = Server("v1/webs v1beta1/webs v1beta1/sites", having="sites")

    scale = await server.scales.read(WEB, "ns")

    assert server.asked == ["v1/webs", "v1beta1/sites"]
    assert (scale.selector, scale.replicas, scale.observed) == ("app=a", 3, 2)


async def test_the_error_of_the_first_resource_counts() -> None:
    server = Server("v1/webs v1/sites", having="nothing")

    with pytest.raises(NotFound, match="no scale of webs"):
        await server.scales.read(WEB, "ns")

    assert server.asked == ["v1/webs", "v1/sites"]


@pytest.mark.parametrize(
    ("selector", "read"),
    [
        ("", ""),
        ("  ", ""),
        ("tier in (b , a), app == web,!old", "app=web,!old,tier in (a,b)"),
        ("app=a,app=b", "app=b"),
    ],
)
async def test_a_selector_is_read_in_its_canonical_form(selector: str, read: str) -> None:
    assert (await Server("v1/webs", "webs", selector).scales.read(WEB, "ns")).selector == read


@pytest.mark.parametrize(
    ("selector", "why"),
    [
        (
            "!!",
            "couldn't parse the selector string \"!!\": unable to parse requirement: found '!', expected: identifier",
        ),
        ("a!=b", '"!=" is not a valid label selector operator'),
        ("a>1", '"gt" isn\'t supported in label selectors'),
    ],
)
async def test_a_scale_whose_selector_no_object_can_have_is_refused(selector: str, why: str) -> None:
    with pytest.raises(UnreadableScale) as caught:
        await Server("v1/webs", "webs", selector).scales.read(WEB, "ns")

    head = "received an object from a /scale endpoint which was not convertible to autoscaling Scale"
    assert str(caught.value) == f"{head}: failed to parse target selector: {why}"
