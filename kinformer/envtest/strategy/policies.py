"""Validation of ValidatingAdmissionPolicies and their bindings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from kinformer.envtest.causes import forbidden, invalid, required
from kinformer.envtest.status import Cause
from kinformer.envtest.strategy import fields as f
from kinformer.envtest.strategy.base import Obj
from kinformer.envtest.strategy.webhooks import RULE, check_expression, check_match_conditions
from kinformer.expressions import MISSING, Program, is_available
from kinformer.expressions.admission import ExpressionError, Scope, scope_for
from kinformer.expressions.types import RESERVED
from kinformer.meta.validation import dns1123_subdomain_errors

__all__ = ("CHECK_BINDING", "CHECK_POLICY")

_MOST_ANNOTATIONS = 20
_LONGEST_ANNOTATION = 5 * 1024
_is_identifier = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*", re.ASCII).fullmatch
_line_end = re.compile(r"[\n\r]").search
_GROUP = f.Form(dns1123_subdomain_errors, between=",")


_RULES = f.Each(f.Fields(resourceNames=f.Each(f.PATH_SEGMENT, f.Unique())), RULE)
_MATCHES = f.Fields(
    matchPolicy=f.OneOf("Equivalent", "Exact"),
    namespaceSelector=f.LABEL_SELECTOR,
    objectSelector=f.LABEL_SELECTOR,
    resourceRules=_RULES,
    excludeResourceRules=_RULES,
)


def _check_expressions(obj: Obj, *, has_params: bool) -> Iterator[Cause]:
    spec = obj["spec"]
    scope = scope_for(has_params=has_params, has_authorizer=True)
    telling = scope_for(has_params=has_params, has_authorizer=False)
    if spec.get("variables"):
        scope, telling = scope.with_variable(), telling.with_variable()
    for index, variable in enumerate(spec.get("variables") or ()):
        path, name, text = f"spec.variables[{index}]", variable.get("name") or "", variable.get("expression") or ""
        program: Program | None = None
        if not name.strip():
            yield required(f"{path}.name", "name is not specified")
        elif not _is_identifier(name) or name in RESERVED:
            yield invalid(f"{path}.name", name, "must be a valid CEL identifier")
        if not text.strip():
            yield required(f"{path}.expression", "expression is not specified")
        else:
            try:
                program = scope.compile(text)
            except ExpressionError as error:
                yield invalid(f"{path}.expression", text, str(error))
        if _is_identifier(name):
            scope, telling = scope.with_variable(name, program), telling.with_variable(name, program)
    for index, validation in enumerate(spec.get("validations") or ()):
        yield from _check_validation(validation, f"spec.validations[{index}]", scope, telling)
    annotations, path = spec.get("auditAnnotations") or [], "spec.auditAnnotations"
    yield from f.AtMost(_MOST_ANNOTATIONS, "auditAnnotations")(annotations, path)
    check = partial(_check_annotation, name=obj["metadata"].get("name") or "", scope=scope)
    yield from f.Each(check, f.Unique("key"))(annotations, path)


_REASON = f.OneOf("Forbidden", "Invalid", "RequestEntityTooLarge")


def _check_validation(validation: Mapping[str, Any], path: str, scope: Scope, telling: Scope) -> Iterator[Cause]:
    text, message = validation.get("expression") or "", validation.get("message") or ""
    if not text.strip():
        yield required(f"{path}.expression", "expression is not specified")
    else:
        yield from check_expression(text, f"{path}.expression", scope, ["bool"])
    expression = validation.get("messageExpression") or ""
    if expression and not expression.strip():
        yield invalid(f"{path}.messageExpression", expression, "must be non-empty if specified")
    elif expression:
        yield from check_expression(expression, f"{path}.messageExpression", telling, ["string"])
    if message and not message.strip():
        yield invalid(f"{path}.message", message, "must be non-empty if specified")
    elif _line_end(message.strip()):
        yield invalid(f"{path}.message", message, "must not contain line breaks")
    yield from f.Fields(reason=f.Given(_REASON))(validation, path)


def _check_annotation(annotation: Mapping[str, Any], path: str, name: str, scope: Scope) -> Iterator[Cause]:
    key, text = annotation.get("key") or "", annotation.get("valueExpression") or ""
    yield from f.QUALIFIED_NAME(f"{name}/{key}", f"{path}.key")
    if not text.strip():
        yield required(f"{path}.valueExpression", "valueExpression is not specified")
    elif len(text.strip()) > _LONGEST_ANNOTATION:
        yield required(f"{path}.valueExpression", f"must not exceed {_LONGEST_ANNOTATION} bytes in length")
    else:
        yield from check_expression(text, f"{path}.valueExpression", scope, ["string", "null_type"])


def _check_param_version(api_version: str, path: str) -> Iterator[Cause]:
    group, _, version = api_version.rpartition("/")
    if api_version.count("/") > 1:
        yield invalid(path, api_version, f"unexpected GroupVersion string: {api_version}")
        return
    if group:
        yield from _GROUP(group, path)
    if not version:
        yield invalid(path, api_version, "version must be specified")
    else:
        yield from f.API_NAME(version, path)


def _check_policy(policy: Obj, path: str) -> Iterator[Cause]:
    spec = policy.get("spec") or {}
    has_params = spec.get("paramKind") is not None
    yield from _POLICY(spec, "spec")
    conditions = spec.get("matchConditions") or ()
    yield from check_match_conditions(conditions, "spec.matchConditions", has_params=has_params)
    if not spec.get("validations") and not spec.get("auditAnnotations"):
        for name in ("validations", "auditAnnotations"):
            yield required(f"spec.{name}", "validations or auditAnnotations must contain at least one item")
    elif not is_available():
        yield forbidden("spec", MISSING)
    else:
        yield from _check_expressions(policy, has_params=has_params)


_POLICY = f.Fields(
    failurePolicy=f.OneOf("Fail", "Ignore"),
    paramKind=f.Given(f.Fields(apiVersion=f.Needed(_check_param_version), kind=f.Needed(f.KIND_NAME))),
    matchConstraints=f.Present(_MATCHES, f.Fields(resourceRules=f.Needed())),
)
CHECK_POLICY = f.Every(_check_policy)

# -- bindings ----------------------------------------------------------------------------------------------------------


def _check_selection(reference: Obj, path: str) -> Iterator[Cause]:
    exclusive = "name and selector are mutually exclusive"
    name, selector = reference.get("name"), reference.get("selector")
    yield from f.Filled(f.PATH_SEGMENT)(name, f"{path}.name")
    if name and selector is not None:
        yield forbidden(f"{path}.name", exclusive)
    yield from f.LABEL_SELECTOR(selector, f"{path}.selector")
    if name and selector is not None:
        yield forbidden(f"{path}.selector", exclusive)
    if not name and selector is None:
        yield required(path, "one of name or selector must be specified")


_NOT_BOTH = f.Must(
    lambda actions: not {"Deny", "Warn"} <= {*actions},
    "must not contain both Deny and Warn (repeating the same validation failure information in the API response and "
    "headers serves no purpose)",
)
CHECK_BINDING = f.Fields(
    spec=f.Fields(
        policyName=f.Needed(f.DNS_SUBDOMAIN),
        paramRef=f.Given(_check_selection, f.Fields(parameterNotFoundAction=f.Needed(f.OneOf("Deny", "Allow")))),
        matchResources=f.Given(_MATCHES),
        validationActions=f.Needed(
            f.Each(f.OneOf("Audit", "Deny", "Warn"), f.Unique()),
            _NOT_BOTH,
            detail="at least one validation action is required",
        ),
    )
)
