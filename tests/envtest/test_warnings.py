"""What the API says about objects that are right, but hardly meant so."""

from __future__ import annotations

from typing import Any

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


async def test_a_template_is_warned_of_when_its_owner_changes_in_more_than_its_metadata(http: Http) -> None:
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
