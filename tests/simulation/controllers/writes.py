"""The writes of users, as steps of a scenario."""

from __future__ import annotations

from typing import Any

__all__ = ("create", "delete", "patch", "patch_status")


def create(kind: str, name: str, api_version: str = "v1", **fields: Any) -> dict[str, Any]:
    metadata = {"name": name, **fields.pop("metadata", {})}
    return {"create": {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}}


def patch(kind: str, name: str, *, type_: str = "merge", subresource: str = "", **body: Any) -> dict[str, Any]:
    where = {"subresource": subresource} if subresource else {}
    return {"patch": {"kind": kind, "name": name, "type": type_, **where, "body": body}}


def patch_status(kind: str, name: str, **status: Any) -> dict[str, Any]:
    return patch(kind, name, subresource="status", status=status)


def delete(kind: str, name: str, **options: Any) -> dict[str, Any]:
    """:param options: the options of the deletion, in the API's form"""
    return {"delete": {"kind": kind, "name": name, **({"options": options} if options else {})}}
