"""What the API says about objects that are right, but hardly meant so."""

from __future__ import annotations

from typing import Any

import pytest

from kinformer.client import connect
from kinformer.envtest.admission import AdmissionPlugin, Attributes
from kinformer.envtest.handlers.warning_headers import warning_headers
from kinformer.models import V1ConfigMap
from tests.envtest.conftest import Http

DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"


async def warned(http: Http, method: str, path: str, body: Any) -> list[str]:
    """The texts of the warnings that come with an answer."""
    type_ = "application/merge-patch+json" if method == "PATCH" else "application/json"
    headers = {"Content-Type": type_}
    async with http.session.request(method, http.server.url + path, json=body, headers=headers) as response:
        assert response.status < 300, await response.text()
        told = response.headers.getall("Warning", [])
    return [one.removeprefix('299 - "').removesuffix('"').replace('\\"', '"') for one in told]


def pod(**container: Any) -> dict[str, Any]:
    return {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i", **container}]}}


async def test_a_variable_that_hides_another_is_warned_of(http: Http) -> None:
    variables = [{"name": "A", "value": "1"}, {"name": "A", "value": "$(A)2"}, {"name": "A", "value": "3"}]
    told = await warned(http, "POST", "/api/v1/namespaces/default/pods", pod(env=variables))
    hidden = 'hides previous definition of "A", which may be dropped when using apply'
    assert told == [f"spec.containers[0].env[2]: {hidden}"]


async def test_ports_that_are_the_same_are_warned_of(http: Http) -> None:
    ports = [{"containerPort": 80}, {"containerPort": 80}, {"containerPort": 80, "hostPort": 80}]
    here = "spec.containers[0].ports"
    assert await warned(http, "POST", "/api/v1/namespaces/default/pods", pod(ports=ports)) == [
        f"{here}[1]: duplicate port definition with {here}[0]",
        f"{here}[2]: overlapping port definition with {here}[0]",
        f"{here}[2]: overlapping port definition with {here}[1]",
    ]


async def test_old_names_and_parts_of_bytes_are_warned_of(http: Http) -> None:
    body = pod(resources={"requests": {"memory": "100m"}})
    body["spec"] |= {"nodeSelector": {"beta.kubernetes.io/os": "linux"}, "imagePullSecrets": [{"name": ""}]}
    assert await warned(http, "POST", "/api/v1/namespaces/default/pods", body) == [
        'spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead',
        'spec.imagePullSecrets[0].name: invalid empty name ""',
        'spec.containers[0].resources.requests[memory]: fractional byte value "100m" is invalid, must be an integer',
    ]


async def test_a_template_warns_when_more_than_its_owners_metadata_changes(http: Http) -> None:
    constraint = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}
    template = {**pod(), "metadata": {"labels": {"a": "b"}}}
    template["spec"]["topologySpreadConstraints"] = [constraint]
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    place = "spec.template.spec.topologySpreadConstraints[0].labelSelector"
    expected = [f"{place}: a null labelSelector results in matching no pod"]
    assert await warned(http, "POST", DEPLOYMENTS, {"metadata": {"name": "d"}, "spec": spec}) == expected
    assert await warned(http, "PATCH", f"{DEPLOYMENTS}/d", {"metadata": {"labels": {"c": "d"}}}) == []
    assert await warned(http, "PATCH", f"{DEPLOYMENTS}/d", {"spec": {"replicas": 3}}) == expected


async def test_changes_of_pods_are_not_warned_of(http: Http) -> None:
    path = "/api/v1/namespaces/default/pods"
    variables = [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]
    assert len(await warned(http, "POST", path, pod(env=variables))) == 1
    assert await warned(http, "PATCH", f"{path}/p", {"metadata": {"labels": {"a": "b"}}}) == []


class Telling(AdmissionPlugin):
    def admit(self, attributes: Attributes) -> None:
        attributes.warnings.append("it is admitted")


async def test_a_plugin_that_admits_may_warn_the_client(http: Http) -> None:
    http.server.admission.plugins.append(Telling())
    assert await warned(http, "POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "c"}}) == [
        "it is admitted"
    ]


ODD = {
    "a line end": {"a\r\nX-Evil: 1": 1},
    "a zero byte": {"a\0b": 1},
    "130 fields": {f"k{number}": 1 for number in range(130)},
    "400 fields": {f"{'k' * 50}{number}": 1 for number in range(400)},
    "a name of 9,000 bytes": {"k" * 9000: 1},
    "quotes": {'"' * 4000: 1},
    "characters of four bytes": {"\U0001f600" * 4000: 1},
}


@pytest.mark.parametrize("odd", ODD)
async def test_no_warning_costs_the_answer_to_a_write(http: Http, odd: str) -> None:
    path = "/api/v1/namespaces/default/configmaps"
    async with connect(url=http.server.url, token=http.server.token) as client:
        created = await client.resource(V1ConfigMap).create({"metadata": {"name": "a"}, **ODD[odd]}, "default")
    assert created.metadata.name == "a"
    told = await warned(http, "POST", path, {"metadata": {"name": "b"}, **ODD[odd]})
    assert sum(len(one.encode()) for one in told) < 2 * 4096
    assert len(told) <= 100


def test_many_warnings_are_cut_and_then_left_out_as_kubernetes_does_it() -> None:
    assert warning_headers(["a", "a", "", "b\x85c", "\ud800", 'say "x\\y"']) == [
        '299 - "a"',
        r'299 - "say \"x\\y\""',
    ]
    long = [f"{number}{'x' * 999}" for number in range(9)]
    assert warning_headers(long) == [f'299 - "{text[:256]}"' for text in long]
    assert len(warning_headers(f"{number}{'x' * 999}" for number in range(50))) == 16


async def test_a_refused_request_has_its_warnings_as_well(http: Http) -> None:
    body = {"metadata": {"name": "e"}, "subsets": [{"adresses": [{"ip": "1.2.3.4"}]}]}
    path = f"{http.server.url}/api/v1/namespaces/default/endpoints"
    async with http.session.post(path, json=body) as response:
        assert response.status == 422
        assert response.headers.getall("Warning") == [
            '299 - "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"',
            '299 - "unknown field \\"subsets[0].adresses\\""',
        ]
