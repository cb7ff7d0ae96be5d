"""The type check of a policy's expressions.

In: a policy, the resources that the server serves, and its OpenAPI documents. Out: warnings, with
kube-controller-manager's texts. First the kinds whose objects the policy judges are found, as far as its rules name
them: a rule with a wildcard stands for no kind, because its expressions must do for all kinds. Then the schema of each
kind is read from the document of its group and version. An expression is compiled once for each kind. A value whose
type is not known may be anything.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, Final

from kinformer.client import Client
from kinformer.client.discovery import ApiResource
from kinformer.client.errors import NotFound
from kinformer.expressions import Types
from kinformer.expressions.admission import Scope, typed_scope
from kinformer.meta import GroupVersion, GroupVersionKind
from kinformer.models import V1ExpressionWarning, V1ValidatingAdmissionPolicy

__all__ = (
    "Schemas",
    "has_unknown",
    "kind_of_params",
    "kinds_of",
    "schema_of",
    "warnings_of",
)

#: For more kinds, the expressions of a policy are not checked.
_MOST_KINDS: Final = 10

_KINDS: Final = "x-kubernetes-group-version-kind"
_BEFORE_NAME: Final = "#/components/schemas/"
#: What the type of an expression depends on.
_KEPT: Final = ("type", "format", "x-kubernetes-embedded-resource")


def kinds_of(policy: V1ValidatingAdmissionPolicy, served: Sequence[ApiResource]) -> list[GroupVersionKind]:
    """The kinds that a policy's rules name, by group, version and name; at most those that a rule reaches ten with."""
    found: set[GroupVersionKind] = set()
    for rule in _rules(policy):
        count = 0
        for named in _named(rule):
            for kind in _matching(named, served):
                found.add(kind)
                count += 1
                if count == _MOST_KINDS:
                    return sorted(found)
    return sorted(found)


def has_unknown(policy: V1ValidatingAdmissionPolicy, served: Sequence[ApiResource]) -> bool:
    """Whether a rule names a resource that the server does not serve, as far as is known."""
    return any(not list(_matching(named, served)) for rule in _rules(policy) for named in _named(rule))


def kind_of_params(policy: V1ValidatingAdmissionPolicy) -> GroupVersionKind | None:
    """The kind of a policy's parameters, if it has any."""
    kind = policy.spec.param_kind if policy.spec is not None else None
    if kind is None or (kind.api_version or "").count("/") > 1:
        return None
    version = GroupVersion.parse(kind.api_version or "")
    return GroupVersionKind(version.group, version.version, kind.kind or "")


def _rules(policy: V1ValidatingAdmissionPolicy) -> Iterable[Any]:
    constraints = policy.spec.match_constraints if policy.spec is not None else None
    return (constraints.resource_rules if constraints is not None else None) or ()


def _named(rule: Any) -> Iterable[tuple[str, str, str]]:
    """Group, version and name of each resource that a rule names, in their order."""
    groups, versions = sorted(rule.api_groups or ()), sorted(rule.api_versions or ())
    if any("*" in text for text in (*groups, *versions)):
        return ()
    resources = sorted(name for name in rule.resources or () if not set(name) & {"*", "/"})
    return product(groups, versions, resources)


def _matching(named: tuple[str, str, str], served: Iterable[ApiResource]) -> Iterable[GroupVersionKind]:
    """The kinds of a resource. As in Kubernetes, the core group, which has no name, stands for every group here."""
    group, version, name = named
    for one in served:
        is_named = name.lower() in (one.gvr.resource, one.singular or one.kind.lower())
        if is_named and one.gvr.version == version and group in ("", one.gvr.group):
            yield one.gvk


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


def warnings_of(
    policy: V1ValidatingAdmissionPolicy,
    schemas: Mapping[GroupVersionKind, Mapping[str, Any]],
    params: Mapping[str, Any] | None = None,
) -> list[V1ExpressionWarning]:
    """
    The warnings about a policy.

    :param schemas: of the kinds that it judges, in the order in which they are told of
    :param params: the schema of its parameters; None if it is not known
    """
    scopes = {kind: _scope(policy, kind, schema, params) for kind, schema in schemas.items()}
    warnings = []
    for field, text in _expressions(policy):
        told = [f"{_words(kind)}: {why}\n" for kind, scope in scopes.items() if (why := scope.check(text)[1])]
        if told:
            warnings.append(V1ExpressionWarning(field_ref=field, warning="\n".join(told)))
    return warnings


def _expressions(policy: V1ValidatingAdmissionPolicy) -> Iterator[tuple[str, str]]:
    """The expressions that are checked, each after the path of its field."""
    for index, validation in enumerate((policy.spec.validations if policy.spec is not None else None) or ()):
        yield f"spec.validations[{index}].expression", validation.expression or ""
        if validation.message_expression:
            yield f"spec.validations[{index}].messageExpression", validation.message_expression


def _scope(
    policy: V1ValidatingAdmissionPolicy,
    kind: GroupVersionKind,
    schema: Mapping[str, Any],
    params: Mapping[str, Any] | None,
) -> Scope:
    assert policy.spec is not None
    types, param_kind = Types(), policy.spec.param_kind
    known = {"object": types.of_schema(schema, is_root=True, name=kind.kind)}
    if param_kind is not None and params is not None:
        known["params"] = types.of_schema(params, is_root=True, name=param_kind.kind or "")
    scope = typed_scope(types, known, has_params=param_kind is not None)
    for variable in policy.spec.variables or ():
        # One that does not compile may be anything. The server has refused what compiles for no kind.
        scope = scope.with_variable(variable.name, scope.check(variable.expression)[0])
    return scope


def _words(kind: GroupVersionKind) -> str:
    return f"{kind.group}/{kind.version}, Kind={kind.kind}"
