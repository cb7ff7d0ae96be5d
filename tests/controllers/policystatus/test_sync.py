"""The controller with a manager, against the embedded server. The warnings were recorded from Kubernetes 1.36."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

pytest.importorskip("cel_expr_python", reason="expressions need the extra `cel`")

from kinformer.client.discovery import ApiResource
from kinformer.expressions.packages import _has_module
from kinformer.manager import ControllerDisabled
from kinformer.meta import GroupVersionKind, GroupVersionResource
from kinformer.models import V1ValidatingAdmissionPolicy, from_dict
from kinformer_controllers.policystatus.controller import PolicyStatus
from kinformer_controllers.policystatus.typechecking import kinds_of, schema_of
from tests.controllers.nodes import Cluster, cluster

PODS = ("", "v1", "pods")
DEPLOYMENTS = ("apps", "v1", "deployments")


@asynccontextmanager
async def with_controller() -> AsyncIterator[Cluster]:
    async with cluster({"validatingadmissionpolicy-status-controller": PolicyStatus}) as world:
        yield world


def policy(
    *rules: tuple[str, str, str], texts: tuple[str, ...] = ("true",), **spec: Any
) -> V1ValidatingAdmissionPolicy:
    """:param rules: group, version, and the names of resources with a comma between them"""
    resource_rules = [
        {"apiGroups": [group], "apiVersions": [version], "operations": ["CREATE"], "resources": names.split(",")}
        for group, version, names in rules
    ]
    spec |= {"matchConstraints": {"resourceRules": resource_rules}}
    spec.setdefault("validations", [{"expression": text} for text in texts])
    return from_dict(V1ValidatingAdmissionPolicy, {"metadata": {"name": "p"}, "spec": spec})


async def warnings(world: Cluster) -> dict[str, str]:
    found = await world.client.resource(V1ValidatingAdmissionPolicy).get("p")
    assert found.status is not None
    assert found.status.type_checking is not None
    assert found.status.observed_generation == found.metadata.generation
    return {each.field_ref: each.warning for each in found.status.type_checking.expression_warnings or ()}


async def check(world: Cluster, made: V1ValidatingAdmissionPolicy) -> list[str]:
    await world.client.resource(V1ValidatingAdmissionPolicy).create(made)
    await world.turn(1)
    return list((await warnings(world)).values())


def error(kind: str, column: int, what: str, text: str) -> str:
    return f"{kind}: ERROR: <input>:1:{column}: {what}\n | {text}\n | {'.' * (column - 1)}^\n"


NO_OVERLOAD = "found no matching overload for '{}' applied to '({})'"


@pytest.mark.parametrize(
    ("text", "column", "what"),
    [
        ("object.spec.nope == 1", 12, "undefined field 'nope'"),
        ("object.spec == 1", 13, NO_OVERLOAD.format("_==_", "Pod.spec, int")),
        (
            "object.spec.containers == ['a']",
            24,
            NO_OVERLOAD.format("_==_", "list(Pod.spec.containers.@idx), list(string)"),
        ),
        # A quantity has no type of its own in the documents.
        ("object.spec.containers[0].resources.limits['cpu'] == '1'", 36, "undefined field 'limits'"),
        ("object.metadata.creationTimestamp > 'x'", 35, NO_OVERLOAD.format("_>_", "timestamp, string")),
        ("object.spec.priority.x == 1", 21, "type 'int' does not support field selection"),
        (
            "authorizer.requestResource.check('get').allowed()",
            11,
            "unexpected failed resolution of 'kubernetes.authorization.Authorizer'",
        ),
        # What follows from an error is not told of.
        ("object.foo.bar > 1", 7, "undefined field 'foo'"),
    ],
)
async def test_warnings_are_those_of_kube_controller_manager(text: str, column: int, what: str) -> None:
    async with with_controller() as world:
        assert await check(world, policy(PODS, texts=(text,))) == [error("/v1, Kind=Pod", column, what, text)]


@pytest.mark.parametrize(
    "text",
    [
        "object.spec.containers.all(c, c.image.startsWith('a') && c.ports.all(p, p.containerPort > 80))",
        "object.metadata.labels.x == 'y' && oldObject == null && request.userInfo.username != ''",
        # A port is a number or a name.
        "object.spec.containers.all(c, c.livenessProbe.httpGet.port + 1 == 81)",
        "authorizer.group('').resource('pods').check('get').allowed()",
        "object.spec.?hostname.orValue('x') == 'y'",
    ],
)
async def test_there_is_no_warning_about_what_fits(text: str) -> None:
    async with with_controller() as world:
        assert await check(world, policy(PODS, texts=(text,))) == []


async def test_each_kind_has_its_own_warning_and_variables_have_their_types() -> None:
    text = "object.spec.replicas == 1"
    async with with_controller() as world:
        made = policy(
            PODS,
            ("apps", "v1", "statefulsets,deployments"),
            validations=[
                {"expression": text, "messageExpression": "string(object.nope)"},
                {"expression": "variables.n > 'x'"},
                {"expression": "variables.broken == 3"},
            ],
            variables=[
                {"name": "n", "expression": "object.metadata.generation"},
                {"name": "broken", "expression": "object.spec.nothing"},
            ],
        )
        await check(world, made)
        found = await warnings(world)

    assert found["spec.validations[0].expression"] == error("/v1, Kind=Pod", 12, "undefined field 'replicas'", text)
    kinds = ("/v1, Kind=Pod", "apps/v1, Kind=Deployment", "apps/v1, Kind=StatefulSet")
    for field, column, what, told in (
        ("[0].messageExpression", 14, "undefined field 'nope'", "string(object.nope)"),
        ("[1].expression", 13, NO_OVERLOAD.format("_>_", "int, string"), "variables.n > 'x'"),
    ):
        assert found[f"spec.validations{field}"] == "\n".join(error(kind, column, what, told) for kind in kinds)
    assert "spec.validations[2].expression" not in found


async def test_parameters_have_the_type_of_their_kind() -> None:
    text = "params.dataz.x == 'y'"
    async with with_controller() as world:
        made = policy(DEPLOYMENTS, texts=(text,), paramKind={"apiVersion": "v1", "kind": "ConfigMap"})

        assert await check(world, made) == [error("apps/v1, Kind=Deployment", 7, "undefined field 'dataz'", text)]


async def test_a_policy_is_checked_again_after_a_change() -> None:
    async with with_controller() as world:
        assert len(await check(world, policy(DEPLOYMENTS, texts=("object.nope == 1",)))) == 1
        body = {"spec": {"validations": [{"expression": "object.spec.replicas > 1"}]}}
        await world.client.resource(V1ValidatingAdmissionPolicy).patch("p", body)
        await world.turn(1)

        assert await warnings(world) == {}


async def test_a_policy_that_was_checked_is_not_checked_before_it_changes() -> None:
    async with with_controller() as world:
        assert await check(world, policy(DEPLOYMENTS, texts=("object.nope == 1",))) != ["of somebody else"]
        others = {"expressionWarnings": [{"fieldRef": "spec.validations[0].expression", "warning": "of somebody else"}]}
        resource = world.client.resource(V1ValidatingAdmissionPolicy)
        await resource.patch("p", {"status": {"typeChecking": others}}, subresource="status")
        await world.turn(1)

        assert list((await warnings(world)).values()) == ["of somebody else"]


def served(group: str, version: str, plural: str, kind: str) -> ApiResource:
    return ApiResource(GroupVersionResource(group, version, plural), kind, namespaced=True)


def test_the_kinds_of_a_policy_are_those_that_its_rules_name() -> None:
    known = [
        served("", "v1", "events", "Event"),
        served("events.k8s.io", "v1", "events", "Event"),
        served("apps", "v1", "deployments", "Deployment"),
        *(served("many", "v1", f"r{number:02}", f"R{number:02}") for number in range(12)),
    ]

    def kinds(*rules: tuple[str, str, str]) -> list[str]:
        return [f"{it.group}/{it.kind}" for it in kinds_of(policy(*rules), known)]

    # The core group has no name, and stands for all groups.
    assert kinds(("", "v1", "events"), ("apps", "v1", "deployments,nothing,deployments/scale")) == [
        *("/Event", "apps/Deployment", "events.k8s.io/Event")
    ]
    assert kinds(("apps", "*", "deployments"), ("*", "v1", "events"), ("apps", "v1", "*"), ("apps", "v2", "x")) == []
    many = kinds(("many", "v1", ",".join(f"r{number:02}" for number in range(12))), ("apps", "v1", "deployments"))
    assert many == [f"many/R{number:02}" for number in range(10)]


def test_a_type_within_itself_is_an_object_without_fields() -> None:
    kind = GroupVersionKind("g", "v1", "Node")
    node = {
        "type": "object",
        "properties": {"next": {"allOf": [{"$ref": "#/components/schemas/node"}]}, "port": {"format": "int-or-string"}},
        "x-kubernetes-group-version-kind": [{"group": "g", "version": "v1", "kind": "Node"}],
    }

    assert schema_of({"components": {"schemas": {"node": node}}}, kind) == {
        "type": "object",
        "properties": {
            "next": {"type": "object"},
            "port": {"format": "int-or-string", "x-kubernetes-int-or-string": True},
        },
    }
    assert schema_of({"components": {"schemas": {"node": node}}}, kind._replace(kind="Other")) is None


def test_without_its_packages_it_is_disabled_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    _has_module.cache_clear()
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    try:
        with pytest.raises(ControllerDisabled, match=r"kinformer\[cel\]"):
            PolicyStatus(None)  # type: ignore[arg-type]
    finally:
        monkeypatch.undo()
        _has_module.cache_clear()
