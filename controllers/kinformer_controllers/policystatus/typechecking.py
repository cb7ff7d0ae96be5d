"""The type check of a policy's expressions.

In: a policy, and the schemas of the kinds that it judges. Out: warnings. An expression is compiled once for each kind.
A value whose type is not known may be anything. The texts are kube-controller-manager's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kinformer.expressions import Types
from kinformer.expressions.admission import Scope, typed_scope
from kinformer.meta import GroupVersionKind
from kinformer.models import V1ExpressionWarning, V1ValidatingAdmissionPolicy

__all__ = ("warnings_of",)


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
