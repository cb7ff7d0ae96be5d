"""Whatever is sent, the server answers as an API server does: never with an internal error, and it goes on serving."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest

from tests.envtest.conftest import Http

NAMES = ["a", "default", "Bad_Name", "x" * 300, "%00", "..", "é", "a%2Fb", ""]
SEGMENTS = [
    *("api", "apis", "v1", "apps", "namespaces", "default", "pods", "services", "configmaps", "deployments", "status"),
    *(
        "scale",
        "binding",
        "eviction",
        "finalize",
        "log",
        "token",
        "nodes",
        "events",
        "watch",
        "secrets",
        "jobs",
        "batch",
    ),
    *("customresourcedefinitions", "apiextensions.k8s.io", "replicationcontrollers", "resourcequotas", *NAMES),
]
QUERIES = [
    *(
        "watch=1&timeoutSeconds=1",
        "limit=1",
        "limit=-1",
        "limit=x",
        "continue=garbage",
        "continue=e30",
        "fieldSelector=a",
    ),
    *(
        "labelSelector=a+in+(",
        "labelSelector=a%3Db",
        "fieldSelector=metadata.name%3Da",
        "resourceVersion=99999999999999",
    ),
    *("resourceVersion=-1", "resourceVersion=0", "resourceVersionMatch=Exact", "sendInitialEvents=true", "dryRun=All"),
    *("dryRun=x", "fieldValidation=Strict", "fieldValidation=?", "propagationPolicy=Orphan", "gracePeriodSeconds=x"),
    *("fieldManager=m", "fieldManager=m&force=true", "timeoutSeconds=x", "pretty=true", "%ff=%ff", "watch=x", "a=b&&&"),
]
TYPES = [
    *("application/json", "application/yaml", "application/merge-patch+json", "application/json-patch+json"),
    *("application/strategic-merge-patch+json", "application/apply-patch+yaml", "text/plain", "", "application/json;x"),
]
ACCEPTS = [
    *("application/json", "*/*", "", "application/yaml", "application/vnd.kubernetes.protobuf", "text/html,;;="),
    *("application/json;as=Table;v=v1;g=meta.k8s.io", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"),
]
POD = {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
LABELS = {"app": "a"}
TEMPLATE = {"metadata": {"labels": LABELS}, "spec": POD["spec"]}
DEFINITION = {
    "metadata": {"name": "ws.x.io"},
    "spec": {
        "group": "x.io",
        "scope": "Namespaced",
        "names": {"plural": "ws", "kind": "W"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object"}}}},
                "subresources": {
                    "status": {},
                    "scale": {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"},
                },
            }
        ],
    },
}
# One that is never called: a webhook that cannot be reached is an internal error, and rightly so.
WEBHOOKS = [
    {
        "name": "a.x.io",
        "clientConfig": {"service": {"name": "s", "namespace": "n", "path": "/p"}, "caBundle": "YQ=="},
        "rules": [{"operations": ["CREATE"], "apiGroups": ["x.y"], "apiVersions": ["v9"], "resources": ["nothing/x"]}],
        "namespaceSelector": {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
]
GOOD: dict[str, Any] = {
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations": {
        "metadata": {"name": "a"},
        "webhooks": WEBHOOKS,
    },
    "/api/v1/namespaces/default/pods": POD,
    "/api/v1/namespaces/default/services": {"metadata": {"name": "a"}, "spec": {"ports": [{"port": 80}]}},
    "/api/v1/namespaces/default/configmaps": {"metadata": {"name": "a"}, "data": {"k": "v"}},
    "/api/v1/namespaces/default/replicationcontrollers": {"metadata": {"name": "a"}, "spec": {"template": TEMPLATE}},
    "/api/v1/namespaces/default/resourcequotas": {"metadata": {"name": "a"}, "spec": {"hard": {"pods": "1"}}},
    "/apis/apps/v1/namespaces/default/deployments": {
        "metadata": {"name": "a"},
        "spec": {"selector": {"matchLabels": LABELS}, "template": TEMPLATE},
    },
    "/apis/batch/v1/namespaces/default/jobs": {
        "metadata": {"name": "a"},
        "spec": {"template": {"spec": {**POD["spec"], "restartPolicy": "Never"}}},
    },
    "/api/v1/namespaces": {"metadata": {"name": "n"}},
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions": DEFINITION,
    "/apis/x.io/v1/namespaces/default/ws": {"metadata": {"name": "a"}, "spec": {"n": 1}},
    "/apis/policy/v1/namespaces/default/poddisruptionbudgets": {
        "metadata": {"name": "a"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": LABELS}},
    },
}
JUNK: list[Any] = [None, 0, -1, 1.5, 2**70, True, "", "x", [], {}, [None], {"a": None}, [[]], {"": {}}, "\x00", "99Zi"]


def broken(rng: random.Random, value: Any) -> Any:
    """A value with something in it put out of place."""
    if rng.random() < 0.15:
        return rng.choice(JUNK)
    if isinstance(value, dict) and value:
        key = rng.choice(list(value))
        if rng.random() < 0.1:
            return {**value, rng.choice(["", "extra", "metadata", "status"]): rng.choice(JUNK)}
        return {**value, key: broken(rng, value[key])}
    if isinstance(value, list) and value:
        place = rng.randrange(len(value))
        return [*value[:place], broken(rng, value[place]), *value[place + 1 :]]
    return rng.choice(JUNK)


def body_of(rng: random.Random, good: Any) -> bytes:
    kind = rng.random()
    if kind < 0.1:
        return rng.choice([b"", b"{", b"[]x", b"\xff\xfe", b"null", b'"x"', b"[" * 2000, b"a: [", b"1e999", b"{}"])
    if kind < 0.2:
        operations = [{"op": rng.choice(["add", "remove", "test", "x", 1]), "path": rng.choice(["/spec", "/a/b", 1])}]
        return msgspec.json.encode(broken(rng, operations))
    return msgspec.json.encode(broken(rng, good) if rng.random() < 0.8 else good)


@pytest.mark.parametrize("seed", range(8))
async def test_no_request_is_too_strange(http: Http, seed: int) -> None:
    await attack(http, random.Random(seed))


async def attack(http: Http, rng: random.Random) -> None:
    for path, good in GOOD.items():
        await http("POST", path, good)
    for _ in range(250):
        path, good = rng.choice(list(GOOD.items()))
        kind = rng.random()
        if kind < 0.1:
            path = "/" + "/".join(rng.choices(SEGMENTS, k=rng.randrange(1, 8)))
        elif kind < 0.6:
            path += "/" + (good["metadata"]["name"] if rng.random() < 0.8 else rng.choice(NAMES))
            if rng.random() < 0.3:
                path += "/" + rng.choice(["status", "scale", "binding", "eviction", "finalize", "log", "nope"])
        if rng.random() < 0.4:
            path += "?" + "&".join(rng.sample(QUERIES, k=rng.randrange(1, 3)))
        if "watch=" in path:
            http.server.watches.end_all()
            continue
        of_object = 0.1 <= kind < 0.6
        usual = ["PUT", "PATCH", "PATCH", "PATCH", "GET", "DELETE"] if of_object else ["POST", "POST", "POST", "GET"]
        method = rng.choice(usual) if rng.random() < 0.9 else rng.choice(["DELETE", "OPTIONS", "HEAD", "POST", "PUT"])
        type_ = rng.choice(TYPES[2:6] if method == "PATCH" else TYPES[:1]) if rng.random() < 0.8 else rng.choice(TYPES)
        accept = ACCEPTS[0] if rng.random() < 0.8 else rng.choice(ACCEPTS)
        data = body_of(rng, good)
        code, answer = await http(method, path, data, type_, Accept=accept)
        internal = isinstance(answer, dict) and answer.get("reason") == "InternalError"
        assert not internal, f"{method} {path} {type_} {data!r}: {answer}"
        assert code < 500 or (isinstance(answer, dict) and answer["kind"] == "Status"), f"{method} {path}: {code}"
    assert (await http("GET", "/readyz"))[0] == 200
