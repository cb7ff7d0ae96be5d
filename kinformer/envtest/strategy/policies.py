"""Validation of ValidatingAdmissionPolicies and their bindings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from kinformer.envtest.status import Cause
from kinformer.envtest.strategy.base import Obj, Strategy
from kinformer.envtest.strategy.checks import (
    check_label_selector,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    repeats,
    required,
)
from kinformer.envtest.strategy.metadata import path_segment
from kinformer.envtest.strategy.webhooks import check_match_conditions, check_rule
from kinformer.expressions import MISSING, Program, is_available
from kinformer.expressions.admission import ExpressionError, Scope, scope_for
from kinformer.expressions.types import RESERVED
from kinformer.meta.validation import dns1035_label_errors, dns1123_subdomain_errors, label_key_errors

__all__ = ("BindingStrategy", "PolicyStrategy")

_FAILURE = ("Fail", "Ignore")
_MATCH = ("Equivalent", "Exact")
_REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_ACTIONS = ("Audit", "Deny", "Warn")
_MOST_ANNOTATIONS = 20
_LONGEST_ANNOTATION = 5 * 1024
_is_identifier = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*", re.ASCII).fullmatch
_line_end = re.compile(r"[\n\r]").search


class PolicyStrategy(Strategy):
    """Validating admission policies."""

    def validate(self, obj: Obj) -> list[Cause]:
        return list(_check_policy(obj))


class BindingStrategy(Strategy):
    """Policy bindings, which say where a policy applies and with which parameters."""

    def validate(self, obj: Obj) -> list[Cause]:
        return list(_check_binding(obj.get("spec") or {}))


def _check_policy(obj: Obj) -> Iterator[Cause]:
    spec = obj.get("spec") or {}
    if (policy := spec.get("failurePolicy")) not in _FAILURE:
        yield not_supported("spec.failurePolicy", policy, _FAILURE)
    has_params = spec.get("paramKind") is not None
    if has_params:
        yield from _check_param_kind(spec["paramKind"])
    if (resources := spec.get("matchConstraints")) is None:
        yield required("spec.matchConstraints")
    else:
        yield from _check_resources(resources, "spec.matchConstraints")
        if not resources.get("resourceRules"):
            yield required("spec.matchConstraints.resourceRules")
    conditions = spec.get("matchConditions") or ()
    yield from check_match_conditions(conditions, "spec.matchConditions", has_params=has_params)
    validations, annotations = spec.get("validations") or (), spec.get("auditAnnotations") or ()
    if not validations and not annotations:
        for name in ("validations", "auditAnnotations"):
            yield required(f"spec.{name}", "validations or auditAnnotations must contain at least one item")
    elif not is_available():
        yield forbidden("spec", MISSING)
    else:
        yield from _check_expressions(obj, has_params=has_params)


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
    annotations = spec.get("auditAnnotations") or []
    if len(annotations) > _MOST_ANNOTATIONS:
        text = f"must not have more than {_MOST_ANNOTATIONS} auditAnnotations"
        yield invalid("spec.auditAnnotations", annotations, text)
    keys = [one.get("key") or "" for one in annotations]
    again = repeats(keys)
    for index, annotation in enumerate(annotations):
        path = f"spec.auditAnnotations[{index}]"
        yield from _check_annotation(annotation, obj["metadata"].get("name") or "", path, scope)
        if again[index]:
            yield duplicate(f"{path}.key", keys[index])


def _check_validation(validation: Mapping[str, Any], path: str, scope: Scope, telling: Scope) -> Iterator[Cause]:
    text, message = validation.get("expression") or "", validation.get("message") or ""
    if not text.strip():
        yield required(f"{path}.expression", "expression is not specified")
    else:
        yield from _check_expression(text, f"{path}.expression", scope, "bool")
    expression = validation.get("messageExpression") or ""
    if expression and not expression.strip():
        yield invalid(f"{path}.messageExpression", expression, "must be non-empty if specified")
    elif expression:
        yield from _check_expression(expression, f"{path}.messageExpression", telling, "string")
    if message and not message.strip():
        yield invalid(f"{path}.message", message, "must be non-empty if specified")
    elif _line_end(message.strip()):
        yield invalid(f"{path}.message", message, "must not contain line breaks")
    if (reason := validation.get("reason")) is not None and reason not in _REASONS:
        yield not_supported(f"{path}.reason", reason, _REASONS)


def _check_expression(text: str, path: str, scope: Scope, *types: str) -> Iterator[Cause]:
    try:
        scope.compile(text, *types)
    except ExpressionError as error:
        yield invalid(path, text, str(error))


def _check_annotation(annotation: Mapping[str, Any], name: str, path: str, scope: Scope) -> Iterator[Cause]:
    key, text = annotation.get("key") or "", annotation.get("valueExpression") or ""
    for wrong in label_key_errors(f"{name}/{key}"):
        yield invalid(f"{path}.key", f"{name}/{key}", wrong)
    if not text.strip():
        yield required(f"{path}.valueExpression", "valueExpression is not specified")
    elif len(text.strip()) > _LONGEST_ANNOTATION:
        yield required(f"{path}.valueExpression", f"must not exceed {_LONGEST_ANNOTATION} bytes in length")
    else:
        yield from _check_expression(text, f"{path}.valueExpression", scope, "string", "null_type")


def _check_param_kind(kind: Mapping[str, Any]) -> Iterator[Cause]:
    path = "spec.paramKind"
    api_version = kind.get("apiVersion") or ""
    group, _, version = api_version.rpartition("/")
    if not api_version:
        yield required(f"{path}.apiVersion")
    elif api_version.count("/") > 1:
        yield invalid(f"{path}.apiVersion", api_version, f"unexpected GroupVersion string: {api_version}")
    else:
        if group and (wrong := dns1123_subdomain_errors(group)):
            yield invalid(f"{path}.apiVersion", group, ",".join(wrong))
        if not version:
            yield invalid(f"{path}.apiVersion", api_version, "version must be specified")
        elif wrong := dns1035_label_errors(version):
            yield invalid(f"{path}.apiVersion", version, ",".join(wrong))
    name = kind.get("kind") or ""
    if not name:
        yield required(f"{path}.kind")
    elif wrong := dns1035_label_errors(name.lower()):
        yield invalid(f"{path}.kind", name, f"may have mixed case, but should otherwise match: {','.join(wrong)}")


def _check_resources(resources: Mapping[str, Any], path: str) -> Iterator[Cause]:
    if (policy := resources.get("matchPolicy")) not in _MATCH:
        yield not_supported(f"{path}.matchPolicy", policy, _MATCH)
    for name in ("namespaceSelector", "objectSelector"):
        yield from check_label_selector(resources.get(name), f"{path}.{name}")
    for name in ("resourceRules", "excludeResourceRules"):
        for index, rule in enumerate(resources.get(name) or ()):
            here = f"{path}.{name}[{index}]"
            names = rule.get("resourceNames") or []
            for place, (one, again) in enumerate(zip(names, repeats(names), strict=True)):
                for wrong in path_segment(one):
                    yield invalid(f"{here}.resourceNames[{place}]", one, wrong)
                if again:
                    yield duplicate(f"{here}.resourceNames[{place}]", one)
            yield from check_rule(rule, here)


def _check_binding(spec: Mapping[str, Any]) -> Iterator[Cause]:
    if not (name := spec.get("policyName")):
        yield required("spec.policyName")
    else:
        for wrong in dns1123_subdomain_errors(name):
            yield invalid("spec.policyName", name, wrong)
    if (reference := spec.get("paramRef")) is not None:
        yield from _check_reference(reference)
    if (resources := spec.get("matchResources")) is not None:
        yield from _check_resources(resources, "spec.matchResources")
    actions = spec.get("validationActions") or []
    for index, (action, again) in enumerate(zip(actions, repeats(actions), strict=True)):
        if action not in _ACTIONS:
            yield not_supported(f"spec.validationActions[{index}]", action, _ACTIONS)
        if again:
            yield duplicate(f"spec.validationActions[{index}]", action)
    if "Deny" in actions and "Warn" in actions:
        told = "repeating the same validation failure information in the API response and headers serves no purpose"
        yield invalid("spec.validationActions", actions, f"must not contain both Deny and Warn ({told})")
    if not actions:
        yield required("spec.validationActions", "at least one validation action is required")


def _check_reference(reference: Mapping[str, Any]) -> Iterator[Cause]:
    path, exclusive = "spec.paramRef", "name and selector are mutually exclusive"
    name, selector = reference.get("name") or "", reference.get("selector")
    if name:
        for wrong in path_segment(name):
            yield invalid(f"{path}.name", name, wrong)
        if selector is not None:
            yield forbidden(f"{path}.name", exclusive)
    if selector is not None:
        yield from check_label_selector(selector, f"{path}.selector")
        if name:
            yield forbidden(f"{path}.selector", exclusive)
    if not name and selector is None:
        yield required(path, "one of name or selector must be specified")
    action = reference.get("parameterNotFoundAction")
    if not action:
        yield required(f"{path}.parameterNotFoundAction")
    elif action not in ("Deny", "Allow"):
        yield not_supported(f"{path}.parameterNotFoundAction", action, ("Deny", "Allow"))
