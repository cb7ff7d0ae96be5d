"""The variables that expressions of admission can use: the object, the request, the namespace, and so on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from kinformer.expressions import CompileError, Environment, Program, Types

__all__ = ("ExpressionError", "Scope", "scope_for", "typed_scope")

_STRING: Mapping[str, Any] = {"type": "string"}
_STRINGS: Mapping[str, Any] = {"type": "array", "items": _STRING}
_STRING_MAP: Mapping[str, Any] = {"type": "object", "additionalProperties": _STRING}
_TIME: Mapping[str, Any] = {"type": "string", "format": "date-time"}
_DYN: Mapping[str, Any] = {"type": "dyn"}


def _object(**fields: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": fields}


_KIND = _object(group=_STRING, version=_STRING, kind=_STRING)
_RESOURCE = _object(group=_STRING, version=_STRING, resource=_STRING)
_REQUEST = _object(
    kind=_KIND,
    resource=_RESOURCE,
    subResource=_STRING,
    requestKind=_KIND,
    requestResource=_RESOURCE,
    requestSubResource=_STRING,
    name=_STRING,
    namespace=_STRING,
    operation=_STRING,
    userInfo=_object(
        username=_STRING,
        uid=_STRING,
        groups=_STRINGS,
        extra={"type": "object", "additionalProperties": _STRINGS},
    ),
    dryRun={"type": "boolean"},
    options=_DYN,
)
_CONDITION = _object(status=_STRING, type=_STRING, lastTransitionTime=_TIME, message=_STRING, reason=_STRING)
_METADATA = _object(
    name=_STRING,
    generateName=_STRING,
    namespace=_STRING,
    labels=_STRING_MAP,
    annotations=_STRING_MAP,
    UID=_STRING,
    creationTimestamp=_TIME,
    deletionGracePeriodSeconds={"type": "integer"},
    deletionTimestamp=_TIME,
    generation={"type": "integer"},
    resourceVersion=_STRING,
    finalizers=_STRINGS,
)
_NAMESPACE = _object(
    metadata=_METADATA,
    spec=_object(finalizers=_STRINGS),
    status=_object(conditions={"type": "array", "items": _CONDITION}, phase=_STRING),
)
_SIMPLE: Mapping[str, Mapping[str, Any]] = {
    "bool": {"type": "boolean"},
    "bytes": {"type": "string", "format": "byte"},
    "double": {"type": "number"},
    "duration": {"type": "string", "format": "duration"},
    "int": {"type": "integer"},
    "string": _STRING,
    "timestamp": _TIME,
}


#: The checker's name of the type of an object.
_made = re.compile(r"schema\d+\.Object\d+")


class ExpressionError(Exception):
    """An expression is invalid, or has the wrong type. The text is kube-apiserver's."""


def typed_scope(types: Types, known: Mapping[str, Any], *, has_params: bool) -> Scope:
    """
    The variables of a policy's expressions whose types are checked, with ``variables``, which has no fields yet.

    As in Kubernetes, they are those of :func:`scope_for` without ``authorizer.requestResource``.

    :param types: in which the types of `known` were made
    :param known: the types of ``object`` and ``params``; None for any type
    """
    of_object = known.get("object")
    variables: dict[str, Any] = {
        "object": of_object,
        "oldObject": of_object,
        "request": types.of_schema(_REQUEST, name="kubernetes.AdmissionRequest", escapes=False),
        "namespaceObject": types.of_schema(_NAMESPACE, name="kubernetes.Namespace", escapes=False),
        "authorizer": types.opaque("Authorizer"),
    }
    if has_params:
        variables["params"] = known.get("params")
    return Scope(types, variables).with_variable()


@cache
def scope_for(*, has_params: bool, has_authorizer: bool) -> Scope:
    """The variables of an expression. With `has_params` and `has_authorizer` there are more of them."""
    types = Types()
    variables: dict[str, Any] = {
        "object": None,
        "oldObject": None,
        "request": types.of_schema(_REQUEST, escapes=False),
        "namespaceObject": types.of_schema(_NAMESPACE, escapes=False),
    }
    if has_params:
        variables["params"] = None
    if has_authorizer:
        variables["authorizer"] = types.opaque("Authorizer")
        variables["authorizer.requestResource"] = types.opaque("ResourceCheck")
    return Scope(types, variables)


class Scope:
    """An environment, and those of the policy's own variables that are declared before the expression."""

    def __init__(
        self, types: Types, known: Mapping[str, Any], variables: Mapping[str, Mapping[str, Any]] | None = None
    ):
        self._types = types
        self._known = known
        self._variables = variables or {}
        more = {} if variables is None else {"variables": types.of_schema(_object(**self._variables))}
        self._environment = Environment(types, {**known, **more})

    def with_variable(self, name: str = "", program: Program | None = None) -> Scope:
        """The same scope with one more variable of the policy. It has the type of its expression."""
        more = {name: _schema_of(program.type) if program is not None else _DYN} if name else {}
        return Scope(self._types, self._known, {**self._variables, **more})

    def check(self, text: str) -> tuple[Program | None, str]:
        """The program of an expression of any type, or None and what is wrong with it, in cel-go's words."""
        try:
            return self._environment.compile(text), ""
        except CompileError as error:
            return None, _made.sub(lambda found: self._types.names.get(found[0], found[0]), str(error))

    def compile(self, text: str, *types: str) -> Program:
        """
        :param types: the types that the expression may have. Without any, it may have each type
        :raises ExpressionError: if the text is not a valid expression, or has another type
        """
        try:
            program = self._environment.compile(text)
        except CompileError as error:
            raise ExpressionError(f"compilation failed: {error}") from None
        if types and program.type not in types:
            wanted = types[0] if len(types) == 1 else f"one of [{' '.join(types)}]"
            raise ExpressionError(f"must evaluate to {wanted} but got {program.type}")
        return program


def _schema_of(type_: str) -> Mapping[str, Any]:
    """The schema of a type, from its name in CEL."""
    if type_ in _SIMPLE:
        return _SIMPLE[type_]
    if found := re.fullmatch(r"list\((.*)\)", type_):
        return {"type": "array", "items": _schema_of(found[1])}
    if found := re.fullmatch(r"map\(string, (.*)\)", type_):
        return {"type": "object", "additionalProperties": _schema_of(found[1])}
    return _DYN
