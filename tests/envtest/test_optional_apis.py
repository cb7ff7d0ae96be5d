"""Kinds that are served only if the server is told to, because only some controllers need them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from kinformer.clock import FakeClock
from kinformer.envtest import ApiServer, ServerError
from kinformer.envtest.operations import timestamp
from tests.envtest.conftest import Http

APIS = (
    *("certificates.k8s.io/v1beta1", "internal.apiserver.k8s.io/v1alpha1", "resource.k8s.io/v1alpha3"),
    *("resource.k8s.io/v1beta2", "scheduling.k8s.io/v1alpha2", "storagemigration.k8s.io/v1beta1"),
)
RULES = "/apis/resource.k8s.io/v1beta2/devicetaintrules"
CERTIFICATES = "/apis/certificates.k8s.io/v1beta1"
IN_DEFAULT = "namespaces/default"


@pytest.fixture
async def http(clock: FakeClock) -> AsyncIterator[Http]:
    async with (
        ApiServer(clock=clock, plugins=False, apis=APIS) as server,
        aiohttp.ClientSession(headers={"Authorization": f"Bearer {server.token}"}) as session,
    ):
        yield Http(server, session)


def named(name: str, **rest: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, **rest}


def test_a_version_that_is_not_known_is_named_beside_those_that_are() -> None:
    with pytest.raises(ServerError, match=r"apis: x/v1: not known; these are: certificates.k8s.io/v1beta1, .*"):
        ApiServer(apis=["x/v1"])


async def test_discovery_shows_the_asked_versions_after_the_stable_one(http: Http) -> None:
    group = await http.get("/apis/resource.k8s.io")
    assert [one["version"] for one in group["versions"]] == ["v1", "v1beta2", "v1alpha3"]
    assert group["preferredVersion"]["version"] == "v1"
    async with ApiServer() as plain:
        assert not plain.registry.has_group_version("resource.k8s.io", "v1beta2")


async def test_the_time_of_a_rules_taint_is_when_it_got_its_effect(http: Http, clock: FakeClock) -> None:
    made = await http.create(RULES, named("r", spec={"taint": {"key": "k", "effect": "None"}}))
    first = timestamp(clock.now())
    clock.turn(60)
    renamed = await http.merge(f"{RULES}/r", {"spec": {"taint": {"value": "v"}}})
    changed = await http.merge(f"{RULES}/r", {"spec": {"taint": {"effect": "NoExecute"}}})
    taints = [one["spec"]["taint"]["timeAdded"] for one in (made, renamed, changed)]
    assert taints == [first, first, timestamp(clock.now())]
    assert changed["metadata"]["generation"] == 3


@pytest.mark.parametrize(
    ("path", "spec", "filled", "change"),
    [
        (
            f"{CERTIFICATES}/{IN_DEFAULT}/podcertificaterequests",
            {"signerName": "a.x/b", "podName": "p", "stubPKCS10Request": "YQ=="},
            {"maxExpirationSeconds": 86400, "nodeName": "", "proofOfPossession": ""},
            {"signerName": "c.x/d"},
        ),
        (
            f"{CERTIFICATES}/clustertrustbundles",
            {"signerName": "a.x/b", "trustBundle": "t"},
            {},
            {"signerName": "c.x/d"},
        ),
        (
            "/apis/resource.k8s.io/v1alpha3/resourcepoolstatusrequests",
            {"driver": "d.x.io"},
            {"limit": 100},
            {"limit": 5},
        ),
        (
            f"/apis/scheduling.k8s.io/v1alpha2/{IN_DEFAULT}/podgroups",
            {"schedulingPolicy": {"gang": {"minCount": 2}}},
            {"disruptionMode": "Pod", "podGroupTemplateRef": None},
            {"disruptionMode": "PodGroup"},
        ),
        (
            "/apis/storagemigration.k8s.io/v1beta1/storageversionmigrations",
            {"resource": {"group": "apps", "resource": "deployments"}},
            {},
            {"resource": {"resource": "daemonsets"}},
        ),
    ],
)
async def test_what_is_left_out_is_filled_in_and_never_changes(
    http: Http, path: str, spec: Any, filled: Any, change: Any
) -> None:
    name = "a.x:b:o" if path.endswith("bundles") else "o"
    made = await http.create(path, named(name, spec=spec))
    expected = {**spec, **filled}
    assert {name: made["spec"].get(name, "missing") for name in expected} == expected
    code, refused = await http("PATCH", f"{path}/{name}", {"spec": change}, "application/merge-patch+json")
    assert (code, refused["details"]["causes"][-1]["message"][-18:]) == (422, "field is immutable")


async def test_the_status_is_written_apart_and_metadata_is_kept(http: Http) -> None:
    versions = "/apis/internal.apiserver.k8s.io/v1alpha1/storageversions"
    status = {"storageVersions": [{"apiServerID": "a", "encodingVersion": "v1"}]}
    made = await http.create(versions, named("apps.deployments", status=status))
    assert (made["spec"], made["status"]) == ({}, {})
    body = {"metadata": {"labels": {"a": "b"}}, "status": status}
    written = await http.merge(f"{versions}/apps.deployments/status", body)
    assert (written["status"], written["metadata"].get("labels")) == (status, None)


@pytest.mark.parametrize(
    ("name", "signer", "why"),
    [
        ("example.com:abc:v1", "example.com/abc", ""),
        ("v1", "", ""),
        ("v1", "example.com/abc", "for signerName example.com/abc must be named with prefix example.com:abc:"),
        ("example.com:abc:v1", "", 'without signer name must not have ":" in its name'),
        ("example.com:abc:V", "example.com/abc", "a lowercase RFC 1123 subdomain must consist of"),
    ],
)
async def test_the_name_of_a_trust_bundle_begins_with_its_signer(http: Http, name: str, signer: str, why: str) -> None:
    spec = {"trustBundle": "x"} | ({"signerName": signer} if signer else {})
    code, answer = await http("POST", f"{CERTIFICATES}/clustertrustbundles", named(name, spec=spec))
    assert code == (422 if why else 201)
    assert why in answer.get("message", "")
