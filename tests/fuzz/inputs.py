"""Requests that no sane client sends, made from one source of random numbers.

Most begin as what is right, or nearly: a path that is served, an object with fields of its type. Then something is put
out of place. What is all wrong is refused at the first look and finds nothing.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import msgspec

from kinformer.envtest.registry import Registry, Resource
from tests.fuzz.growth import url_of
from tests.fuzz.objects import FIXED, VALUES, WORDS
from tests.fuzz.samples import sample

__all__ = ("Input", "Inputs")

Obj = dict[str, Any]

_JSON = "application/json"
_YAML = "application/yaml"
_APPLY = "application/apply-patch+yaml"
_PATCHES = ("application/merge-patch+json", "application/strategic-merge-patch+json")
_JSON_PATCH = "application/json-patch+json"
_TYPES = (_JSON, _YAML, _APPLY, *_PATCHES, _JSON_PATCH, "text/plain", "", "application/json; charset=utf-16", ";;=")
_ACCEPTS = (
    *(_JSON, "*/*", "", _YAML, "application/vnd.kubernetes.protobuf", "text/html,;;=", "a" * 5_000),
    *("application/json;as=Table;v=v1;g=meta.k8s.io", "application/json;as=Table;v=v9;g=meta.k8s.io"),
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
    "application/json;as=APIGroupDiscoveryList;v=v2;g=apidiscovery.k8s.io",
)
_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "PROPFIND")
_SUBRESOURCES = (
    *("status", "scale", "finalize", "approval", "resize", "ephemeralcontainers", "eviction", "binding", "token"),
    *("log", "exec", "proxy", "nope", ""),
)
_SEGMENTS = (
    *(
        "api",
        "apis",
        "v1",
        "apps",
        "namespaces",
        "default",
        "pods",
        "configmaps",
        "status",
        "watch",
        "ex.io",
        "ts",
        "t",
    ),
    *("openapi", "v2", "v3", "version", "healthz", "readyz", "metrics", "logs", "kinformer", "a", "..", "%00", "%2F"),
    *("%ff%fe", "%F0%9F%98%80", "", "a" * 300, "9" * 4_400, "*", "Bad_Name", "{}", "+", "%0d%0aX:1"),
)
_NUMBERS = (
    "-1",
    "0",
    "1",
    "9" * 30,
    "9" * 4_400,
    "1e5",
    "NaN",
    "",
    " 5",
    "+5",
    "0x10",
    "1_000",
    "\u0661",
    str(1 << 63),
)
_PARAMETERS: dict[str, Sequence[str]] = {
    **dict.fromkeys(("limit", "resourceVersion", "timeoutSeconds", "gracePeriodSeconds"), _NUMBERS),
    **dict.fromkeys(
        ("watch", "allowWatchBookmarks", "sendInitialEvents", "force", "pretty", "orphanDependents", "export", "exact"),
        ("true", "false", "1", "x", ""),
    ),
    "continue": ("e30", "garbage", "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJhIn0", "%"),
    "resourceVersionMatch": ("Exact", "NotOlderThan", "x"),
    "dryRun": ("All", "All", "x"),
    "fieldManager": ("m", "other", "", "\x00", "m" * 200),
    "fieldValidation": ("Strict", "Warn", "Ignore", "?"),
    "propagationPolicy": ("Orphan", "Foreground", "Background", "x"),
    "includeObject": ("None", "Object", "Metadata", "x"),
    "labelSelector": (
        *("a=b", "!a", "a in (b,c)", "a notin (b", "a in ()", "a>1", "a<x", "=", ",", "(", "a in (b)" * 50, "a/b/c=d"),
        *("a=b," * 500, "a>" + "9" * 5_000, "a=" + "b" * 64, "x\\", "\x00"),
    ),
    "fieldSelector": (
        *("metadata.name=a", "metadata.name!=a", "status.phase=Running", "spec.nodeName=", "\\", "a\\,b=c", "x=y"),
        *("metadata.name=a,metadata.name=b", "metadata.namespace=default", "spec.a=b"),
    ),
}
_OF_YAML = (b"&a ", b"*a", b"<<: ", b"!!int ", b"!!float '' ", b"!own ", b"\t", b"\n---\n", b"? ", b"- ", b"{", b"|\n ")
_CREATES = ("POST", "POST", "POST", "APPLY", "YAML")
_CHANGES = ("PUT", "MERGE", "STRATEGIC", "JSON_PATCH", "APPLY", "APPLY", "SUBRESOURCE", "GET", "DELETE")


@dataclass(frozen=True, slots=True)
class Input:
    """One request."""

    method: str
    path: str
    type: str = _JSON
    accept: str = _JSON
    body: bytes | None = None

    @property
    def watches(self) -> bool:
        return "watch" in self.path


class Inputs:
    """An endless source of them, the same for the same seed."""

    def __init__(self, seed: int):
        self._rng = random.Random(seed)
        self._resources = [one for one in Registry() if one.is_stored and "create" in one.verbs]
        self._names = [url_of(one) for one in self._resources]
        self._number = 0

    def next(self) -> Input:
        self._number += 1
        rng = self._rng
        kind = rng.random()
        if kind < 0.15:
            return self._odd()
        if kind < 0.25:
            return self._fixed(rng.choice(FIXED))
        resource = rng.choice(self._resources)
        if kind < 0.6:
            base: Obj = self._pruned(sample(resource))
        else:
            good = [obj for path, obj in FIXED if path == url_of(resource)]
            base = _copy(rng.choice(good)) if good else self._pruned(sample(resource))
        base.setdefault("metadata", {})
        return self._request(resource, base)

    # -- whole requests -------------------------------------------------------------------------------------------

    def _request(self, resource: Resource, obj: Obj) -> Input:
        rng = self._rng
        of_object = rng.random() < 0.5
        name = "a" if of_object or rng.random() < 0.3 else f"n{self._number}"
        obj["metadata"]["name"] = name
        obj = {"apiVersion": resource.api_version, "kind": resource.kind, **obj}
        for _ in range(rng.choice((0, 1, 1, 1, 2, 3))):
            self._put_out_of_place(obj)
        how = rng.choice(_CHANGES if of_object else _CREATES)
        return self._by(how, url_of(resource), name, obj)

    def _fixed(self, pair: tuple[str, Obj]) -> Input:
        path, good = pair
        obj = _copy(good)
        for _ in range(self._rng.choice((0, 1, 1, 2, 4))):
            self._put_out_of_place(obj)
        name = str((good.get("metadata") or {}).get("name") or "a")
        return self._by(self._rng.choice((*_CREATES, *_CHANGES)), path, name, obj)

    def _by(self, how: str, path: str, name: str, obj: Any) -> Input:
        rng, one = self._rng, f"{path}/{name}"
        query = self._query()
        body = self._encoded(obj)
        accept = _JSON if rng.random() < 0.85 else rng.choice(_ACCEPTS)
        match how:
            case "POST":
                return Input("POST", path + query, _JSON, accept, body)
            case "YAML":
                return Input("POST", path + query, _YAML, accept, self._as_yaml(body))
            case "PUT":
                return Input("PUT", one + query, _JSON, accept, body)
            case "MERGE":
                return Input("PATCH", one + query, _PATCHES[0], accept, body)
            case "STRATEGIC":
                return Input("PATCH", one + query, _PATCHES[1], accept, body)
            case "JSON_PATCH":
                return Input("PATCH", one + query, _JSON_PATCH, accept, self._encoded(self._operations(obj)))
            case "APPLY":
                manager = f"fieldManager=m{rng.randrange(3)}" + rng.choice(("", "&force=true", "&dryRun=All"))
                return Input("PATCH", f"{one}?{manager}", _APPLY, accept, self._as_yaml(body))
            case "SUBRESOURCE":
                method, type_ = rng.choice((("PUT", _JSON), ("PATCH", _PATCHES[0]), ("POST", _JSON), ("GET", _JSON)))
                return Input(method, f"{one}/{rng.choice(_SUBRESOURCES)}{query}", type_, accept, body)
            case "GET":
                return Input("GET", (one if rng.random() < 0.6 else path) + query, _JSON, rng.choice(_ACCEPTS))
        options = rng.choice((None, b"{}", self._encoded({"propagationPolicy": rng.choice(VALUES)}), body))
        return Input("DELETE", (one if rng.random() < 0.9 else path) + query, _JSON, accept, options)

    def _odd(self) -> Input:
        rng = self._rng
        if rng.random() < 0.5:
            path = "/" + "/".join(rng.choices(_SEGMENTS, k=rng.randrange(0, 8)))
        else:
            path = rng.choice(self._names) + rng.choice(("", "/a", "/a/" + rng.choice(_SUBRESOURCES)))
        body = None if rng.random() < 0.4 else self._encoded(self._anything())
        return Input(rng.choice(_METHODS), path + self._query(4), rng.choice(_TYPES), rng.choice(_ACCEPTS), body)

    def _query(self, most: int = 2) -> str:
        rng = self._rng
        if rng.random() < 0.6:
            return ""
        chosen = rng.choices(list(_PARAMETERS), k=rng.randint(1, most))
        return "?" + "&".join(f"{name}={quote(rng.choice(_PARAMETERS[name]), safe='%')}" for name in chosen)

    # -- what is in them ------------------------------------------------------------------------------------------

    def _pruned(self, value: Any, depth: int = 0) -> Any:
        """Some of the fields: with all of them an object is wrong in so many ways that each check stops at another."""
        if isinstance(value, dict):
            keep = 0.9 if depth == 0 else 0.45
            return {key: self._pruned(item, depth + 1) for key, item in value.items() if self._rng.random() < keep}
        return [self._pruned(item, depth + 1) for item in value] if isinstance(value, list) else value

    def _put_out_of_place(self, obj: Any) -> None:
        """Change something in an object, in place: its fields at the top as likely as those far down."""
        rng, around = self._rng, obj
        while True:
            keys = list(around) if isinstance(around, dict) else range(len(around))
            if not keys:
                break
            key = rng.choice(keys)
            inner = around[key]
            if not isinstance(inner, dict | list) or not inner or rng.random() < 0.2:
                break
            around = inner
        what = rng.random()
        if not around:
            return
        if what < 0.6:
            around[key] = _copy(rng.choice(VALUES))
        elif what < 0.7:
            del around[key]
        elif what < 0.8 and isinstance(around[key], list):
            around[key] = [*around[key], *_copy(around[key])]
        elif what < 0.9 and isinstance(around, dict):
            around[rng.choice(WORDS)] = self._anything()
        else:
            around[key] = [around[key]]

    def _anything(self, depth: int = 0) -> Any:
        rng = self._rng
        kind = rng.random()
        if depth > 3 or kind < 0.55:
            return _copy(rng.choice(VALUES))
        if kind < 0.8:
            return {rng.choice(WORDS): self._anything(depth + 1) for _ in range(rng.randint(1, 4))}
        return [self._anything(depth + 1) for _ in range(rng.randint(0, 3))]

    def _operations(self, obj: Any) -> Any:
        rng = self._rng
        operations = []
        for _ in range(rng.randint(1, 4)):
            verb = rng.choice(("add", "replace", "remove", "test", "copy", "move", "x"))
            one: Obj = {"op": verb, "path": self._pointer(obj), "from": self._pointer(obj)}
            operations.append({**one, "value": self._anything()})
        if rng.random() < 0.1:
            self._put_out_of_place(operations)
        return operations

    def _pointer(self, value: Any) -> str:
        rng, path = self._rng, ""
        while isinstance(value, dict | list) and value and rng.random() < 0.8:
            key = rng.choice(list(value) if isinstance(value, dict) else range(len(value)))
            path += "/" + str(key).replace("~", "~0").replace("/", "~1")
            value = value[key]
        return path + rng.choice(("", "", "", "/-", "/0", "/-1", "/a", "/~2", "/"))

    def _encoded(self, value: Any) -> bytes:
        body = msgspec.json.encode(value)
        if self._rng.random() > 0.03 or not body:
            return body
        broken = bytearray(body)
        for _ in range(self._rng.randint(1, 3)):
            broken[self._rng.randrange(len(broken))] = self._rng.randrange(256)
        return bytes(broken)

    def _as_yaml(self, body: bytes) -> bytes:
        """JSON is YAML; now and then it becomes more than that."""
        if self._rng.random() > 0.3:
            return body
        place = self._rng.randrange(len(body) + 1)
        return body[:place] + self._rng.choice(_OF_YAML) + body[place:]


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _copy(item) for name, item in value.items()}
    return [_copy(item) for item in value] if isinstance(value, list) else value
