"""The schemas of kinds, from the server's OpenAPI documents.

In: the document of a group and version, and a kind. Out: one schema without references, from which CEL makes types.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from kinformer.client import Client
from kinformer.client.errors import NotFound
from kinformer.meta import GroupVersionKind

__all__ = ("Schemas", "schema_of")

_KINDS: Final = "x-kubernetes-group-version-kind"
_BEFORE_NAME: Final = "#/components/schemas/"
#: What the type of an expression depends on.
_KEPT: Final = ("type", "format", "x-kubernetes-embedded-resource")


def schema_of(document: Mapping[str, Any], kind: GroupVersionKind) -> dict[str, Any] | None:
    """
    The schema of a kind, without references. A type within itself is an object without fields, as in Kubernetes.

    :return: None if the document does not have the kind, or not all of it
    """
    schemas = (document.get("components") or {}).get("schemas") or {}
    wanted = {"group": kind.group, "version": kind.version, "kind": kind.kind}
    name = next((name for name, schema in schemas.items() if wanted in (schema.get(_KINDS) or ())), None)
    if name is None:
        return None
    try:
        return _resolved(schemas[name], schemas, (name,))
    except LookupError:
        return None


def _resolved(schema: Mapping[str, Any], schemas: Mapping[str, Any], around: tuple[str, ...]) -> dict[str, Any]:
    if name := _name_referred_to(schema):
        if name in around:
            return {"type": "object"}
        schema, around = schemas[name], (*around, name)
    made = {key: schema[key] for key in _KEPT if key in schema}
    if schema.get("x-kubernetes-int-or-string") or schema.get("format") == "int-or-string":
        made["x-kubernetes-int-or-string"] = True
    if properties := schema.get("properties"):
        made["properties"] = {key: _resolved(value, schemas, around) for key, value in properties.items()}
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), Mapping):
            made[key] = _resolved(schema[key], schemas, around)
    return made


def _name_referred_to(schema: Mapping[str, Any]) -> str:
    """The name of the schema that this one stands for; empty if it stands for itself."""
    references = [schema, *(schema.get("allOf") or ())]
    found: str = next((one["$ref"] for one in references if one.get("$ref")), "")
    return found.removeprefix(_BEFORE_NAME)


class Schemas:
    """The schemas of one server's kinds. A document is read again when its address, which has a hash, has changed."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._documents: dict[str, tuple[str, dict[str, Any]]] = {}

    async def of(self, kind: GroupVersionKind) -> dict[str, Any] | None:
        """
        The schema of a kind; None if the server has none.

        :raises ClientError: if the server refuses a request
        """
        path = f"apis/{kind.group}/{kind.version}" if kind.group else f"api/{kind.version}"
        index = json.loads(await self._client.request("GET", "/openapi/v3"))
        address = ((index.get("paths") or {}).get(path) or {}).get("serverRelativeURL")
        if not address:
            return None
        known = self._documents.get(path)
        if known is None or known[0] != address:
            try:
                known = address, json.loads(await self._client.request("GET", address))
            except NotFound:
                return None
            self._documents[path] = known
        return schema_of(known[1], kind)
