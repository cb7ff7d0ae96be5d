"""The authorizer in admission expressions. It says what else the user of the request may do."""

from __future__ import annotations

from typing import Any

from kinformer.expressions.library import ACCESS, function, make_opaque, read_opaque

__all__ = ("authorizer", "resource_check")


def authorizer() -> dict[str, Any]:
    """The value of the variable ``authorizer``."""
    return make_opaque("Authorizer", {})


def resource_check(**what: str) -> dict[str, Any]:
    """The value of ``authorizer.requestResource``, from group, resource, subresource, namespace and name."""
    return make_opaque("ResourceCheck", what)


def _with(kind: str, value: Any, *kinds: str, **more: str) -> dict[str, Any]:
    return make_opaque(kind, {**read_opaque(value, *kinds), **more})


@function("Authorizer.path(string) -> PathCheck")
def _path(value: Any, path: str) -> dict[str, Any]:
    if not path.strip():
        raise ValueError("path must not be empty")
    return _with("PathCheck", value, "Authorizer", path=path)


@function("Authorizer.group(string) -> GroupCheck")
def _group(value: Any, group: str) -> dict[str, Any]:
    return _with("GroupCheck", value, "Authorizer", group=group)


@function("Authorizer.serviceAccount(string, string) -> Authorizer")
def _service_account(value: Any, namespace: str, name: str) -> dict[str, Any]:
    return _with("Authorizer", value, "Authorizer", user=f"system:serviceaccount:{namespace}:{name}")


@function("GroupCheck.resource(string) -> ResourceCheck")
def _resource(value: Any, resource: str) -> dict[str, Any]:
    if not resource.strip():
        raise ValueError("resource must not be empty")
    return _with("ResourceCheck", value, "GroupCheck", resource=resource)


@function("ResourceCheck.subresource(string) -> ResourceCheck")
def _subresource(value: Any, subresource: str) -> dict[str, Any]:
    return _with("ResourceCheck", value, "ResourceCheck", subresource=subresource)


@function("ResourceCheck.namespace(string) -> ResourceCheck")
def _namespace(value: Any, namespace: str) -> dict[str, Any]:
    return _with("ResourceCheck", value, "ResourceCheck", namespace=namespace)


@function("ResourceCheck.name(string) -> ResourceCheck")
def _name(value: Any, name: str) -> dict[str, Any]:
    return _with("ResourceCheck", value, "ResourceCheck", name=name)


@function("ResourceCheck.fieldSelector(string) -> ResourceCheck")
@function("ResourceCheck.labelSelector(string) -> ResourceCheck")
def _selector(value: Any, selector: str) -> dict[str, Any]:
    # RBAC ignores selectors.
    return make_opaque("ResourceCheck", read_opaque(value, "ResourceCheck"))


@function("ResourceCheck.check(string) -> Decision")
@function("PathCheck.check(string) -> Decision")
def _check(value: Any, verb: str) -> dict[str, Any]:
    access = ACCESS.get()
    allowed = access is not None and access.allows(read_opaque(value, "ResourceCheck", "PathCheck"), verb)
    return make_opaque("Decision", allowed)


@function("Decision.allowed() -> bool")
def _allowed(value: Any) -> bool:
    return bool(read_opaque(value, "Decision"))


@function("Decision.errored() -> bool")
def _errored(value: Any) -> bool:
    return False


@function("Decision.error() -> string")
@function("Decision.reason() -> string")
def _reason(value: Any) -> str:
    return ""
