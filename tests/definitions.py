"""Definitions of custom resources, for tests that need some kind which the server does not have by itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

__all__ = ("DEFINITIONS", "FREE", "definition")

DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
#: The schema of an object that may have any fields.
FREE: Final[Mapping[str, Any]] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def definition(
    plural: str,
    kind: str,
    group: str = "example.com",
    *,
    name: str = "v1",
    schema: Mapping[str, Any] = FREE,
    approved: bool = False,
    **version: Any,
) -> dict[str, Any]:
    """
    The definition of a kind of namespaced objects with one version.

    :param name: of the version
    :param schema: of the whole object
    :param approved: whether it says that it may be in a group of Kubernetes
    :param version: more about the version, such as its subresources
    """
    meta: dict[str, Any] = {"name": f"{plural}.{group}"}
    if approved:
        meta["annotations"] = {"api-approved.kubernetes.io": "unapproved, test only"}
    names = {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"}
    one = {"name": name, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}, **version}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": meta,
        "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": [one]},
    }
