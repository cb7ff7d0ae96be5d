"""How long the event loop of a server stands still while it takes bodies of 3 MB, of every shape that once was slow."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from kinformer.envtest.handlers.yaml_bodies import BODY_LIMIT
from tests.envtest.hostile.victim import victim

__all__ = ("LARGE", "LONGEST", "Large", "stalls")

#: For how many seconds of CPU time the loop may stand still.
LONGEST: Final = 0.25

_HERE = "namespaces/default"
_CONFIG_MAPS = f"/api/v1/{_HERE}/configmaps"
_PODS = f"/api/v1/{_HERE}/pods"
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_JSON, _YAML = "application/json", "application/yaml"
_MERGE, _STRATEGIC = "application/merge-patch+json", "application/strategic-merge-patch+json"
_APPLY, _JSON_PATCH = "application/apply-patch+yaml", "application/json-patch+json"
_MOST = BODY_LIMIT - 2_000


class Large(NamedTuple):
    """
    A request with a large body, or one that makes something large.

    :param body: with ``@`` where the parts come
    :param part: with ``#`` where its number comes; there are as many as a body may have
    """

    name: str
    method: str
    path: str
    type: str
    body: str
    part: str = ""
    join: str = ","

    def text(self) -> str:
        if not self.part:
            return self.body
        parts = _MOST // (len(self.part) + len(self.join) + 5 * self.part.count("#"))
        return self.body.replace("@", self.join.join(self.part.replace("#", str(index)) for index in range(parts)))


_POD = '{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}],"%s":[@]}}'
_ONE_CONTAINER = '{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i","%s":[@]}]}}'
_DRY = "?dryRun=All"
_FIELD = '"k#":"v"'


def _definition() -> str:
    definition: dict[str, Any] = {
        "metadata": {"name": "ls.ex.io"},
        "spec": {
            "group": "ex.io",
            "scope": "Namespaced",
            "names": {"plural": "ls", "kind": "L"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": "SCHEMA"}}],
        },
    }
    return json.dumps(definition).replace('"SCHEMA"', '{"type":"object","properties":{@}}')


_COPIES = json.dumps([{"op": "copy", "from": "/data", "path": f"/copy{index}"} for index in range(10)])

LARGE: Final = (
    Large("JSON of many fields", "POST", _CONFIG_MAPS, _JSON, '{"metadata":{"name":"a"},"data":{@}}', _FIELD),
    Large(
        "the same fields, applied",
        "PATCH",
        f"{_CONFIG_MAPS}/b?fieldManager=m",
        _APPLY,
        '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"},"data":{@}}',
        _FIELD,
    ),
    Large("a small patch of a large object", "PATCH", f"{_CONFIG_MAPS}/a", _MERGE, '{"data":{"k0":"other"}}'),
    Large("copies in a small patch", "PATCH", f"{_CONFIG_MAPS}/a", _JSON_PATCH, _COPIES),
    Large("JSON of unknown fields", "POST", _CONFIG_MAPS + _DRY, _JSON, '{"metadata":{"name":"u"},@}', _FIELD),
    Large("JSON that never ends", "POST", _CONFIG_MAPS, _JSON, "[@", "1"),
    Large("JSON of one text that never ends", "POST", _CONFIG_MAPS, _JSON, '{"a":"@', "x", ""),
    Large("JSON with a wrong end", "POST", _CONFIG_MAPS, _JSON, "[@x", "{}"),
    Large("JSON of brackets", "POST", _CONFIG_MAPS, _JSON, "@", "[", ""),
    Large("YAML of many lines", "POST", _CONFIG_MAPS + _DRY, _YAML, "metadata: {name: y}\ndata:\n@", "  k#: v", "\n"),
    Large("YAML of many aliases", "POST", _CONFIG_MAPS, _YAML, "a: &a {b: c}\nd: [@]", "*a    "),
    Large("YAML of brackets", "POST", _CONFIG_MAPS, _YAML, "@", "- ", ""),
    Large(
        "spread constraints",
        "POST",
        _PODS + _DRY,
        _JSON,
        _POD % "topologySpreadConstraints",
        '{"maxSkew":1,"topologyKey":"k#","whenUnsatisfiable":"DoNotSchedule"}',
    ),
    Large("containers", "POST", _PODS + _DRY, _JSON, _POD % "initContainers", '{"name":"c#","image":"i"}'),
    Large("volumes of one name", "POST", _PODS + _DRY, _JSON, _POD % "volumes", '{"name":"v","emptyDir":{}}'),
    Large("mounts", "POST", _PODS + _DRY, _JSON, _ONE_CONTAINER % "volumeMounts", '{"name":"v","mountPath":"/a#"}'),
    Large("host aliases", "POST", _PODS + _DRY, _JSON, _POD % "hostAliases", '{"ip":"010.1.1.1","hostnames":["a"]}'),
    Large(
        "network peers",
        "POST",
        f"/apis/networking.k8s.io/v1/{_HERE}/networkpolicies{_DRY}",
        _JSON,
        '{"metadata":{"name":"n"},"spec":{"podSelector":{},"ingress":[{"from":[@]}]}}',
        '{"ipBlock":{"cidr":"10.0.0.0/8","except":["10.1.0.0/16","10.2.0.0/16"]}}',
    ),
    Large(
        "rules of a role",
        "POST",
        f"/apis/rbac.authorization.k8s.io/v1/clusterroles{_DRY}",
        _JSON,
        '{"metadata":{"name":"r"},"rules":[@]}',
        '{"verbs":["*"],"apiGroups":["*"],"resources":["*"]}',
    ),
    Large(
        "ports of a service",
        "POST",
        f"/api/v1/{_HERE}/services{_DRY}",
        _JSON,
        '{"metadata":{"name":"s"},"spec":{"ports":[@]}}',
        '{"name":"p#","port":80}',
    ),
    Large(
        "a strategic patch of environment",
        "PATCH",
        f"{_PODS}/small",
        _STRATEGIC,
        '{"spec":{"containers":[{"name":"c","env":[@]}]}}',
        '{"name":"e#","value":"v"}',
    ),
    Large("fields of a schema", "POST", _DEFINITIONS, _JSON, _definition(), '"p#":{"type":"string","pattern":"^a#$"}'),
    # The answer is 500, as in Kubernetes: with its managed fields, it is larger than what etcd takes.
    Large(
        "an object of that schema",
        "POST",
        f"/apis/ex.io/v1/{_HERE}/ls",
        _JSON,
        '{"apiVersion":"ex.io/v1","kind":"L","metadata":{"name":"l"},@}',
        '"p#":"a#"',
    ),
    Large("everything in YAML", "GET", f"{_CONFIG_MAPS}/a", _JSON, ""),
)


def stalls() -> Iterator[tuple[str, int, float]]:
    """
    Send each to a server in another process.

    :return: its name, the answer's code, and for how many seconds of CPU time the loop stood still at most
    """
    with victim(cpu_seconds=300) as server:
        server("POST", _PODS, '{"metadata":{"name":"small"},"spec":{"containers":[{"name":"c","image":"i"}]}}')
        for one in LARGE:
            text = one.text() or None
            server.longest_stall()
            answer = server(one.method, one.path, text, one.type, accept="*/*" if text else _YAML)
            yield one.name, answer.code, server.longest_stall()
