"""ValidatingAdmissionPolicies: each write is checked with the policies that are bound to it, after the mutation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kinformer.envtest import status
from kinformer.envtest.access import Authorizer
from kinformer.envtest.admission import AdmissionPlugin, Attributes
from kinformer.envtest.custom.rules import told_by
from kinformer.envtest.policies.conditions import ConditionError, Conditions, Subject, compiled
from kinformer.envtest.policies.matching import Criteria, Matcher, NamespaceMissing, criteria_of
from kinformer.envtest.registry import Registry, Resource
from kinformer.envtest.storage import Storage
from kinformer.expressions import EvaluationError, Program, is_available
from kinformer.expressions.admission import ExpressionError, scope_for
from kinformer.logs import get_logger
from kinformer.meta.names import GroupResource, GroupVersion
from kinformer.meta.selectors import label_selector_as_selector

__all__ = ("POLICY_RESOURCES", "Policies")

log = get_logger(__name__)

Obj = dict[str, Any]

_GROUP = "admissionregistration.k8s.io"
_POLICIES = GroupResource(_GROUP, "validatingadmissionpolicies")
_BINDINGS = GroupResource(_GROUP, "validatingadmissionpolicybindings")
_NAMESPACES = GroupResource("", "namespaces")
#: Policies do not check these. Otherwise a policy that refuses everything could not be removed.
POLICY_RESOURCES = frozenset(
    GroupResource(_GROUP, f"{kind}admissionpolic{end}")
    for kind in ("mutating", "validating")
    for end in ("ies", "ybindings")
)
_CODES = {"Unauthorized": 401, "Forbidden": 403, "RequestEntityTooLarge": 413}


class _Misconfigured(Exception):
    """A policy or a binding cannot be applied. The text says why."""


@dataclass(slots=True)
class _Validation:
    """An expression of a policy that must be true."""

    spec: Mapping[str, Any]
    program: Program | ExpressionError
    message: Program | None


@dataclass(slots=True)
class _Policy:
    """A stored policy, compiled."""

    name: str
    spec: Mapping[str, Any]
    criteria: Criteria
    conditions: Conditions
    variables: dict[str, Program | ExpressionError]
    validations: list[_Validation]

    @property
    def ignores_failure(self) -> bool:
        return self.spec.get("failurePolicy") == "Ignore"


@dataclass(frozen=True, slots=True)
class _Refusal:
    """The refusal of a write by one policy."""

    policy: str
    binding: str
    message: str
    reason: str = ""

    @property
    def text(self) -> str:
        with_binding = f" with binding '{self.binding}'" if self.binding else ""
        return f"ValidatingAdmissionPolicy '{self.policy}'{with_binding} denied request: {self.message}"


@dataclass(slots=True)
class _Evaluation:
    """The evaluation of a policy for one write. A variable is evaluated once, and only if an expression uses it."""

    policy: _Policy
    subject: Subject
    values: Obj = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)

    def evaluate(self, program: Program, known: int | None = None) -> Any:
        """
        :param known: the number of variables that the expression can use. That of a variable uses only earlier ones
        :raises EvaluationError: if the evaluation fails
        """
        for index, (name, variable) in enumerate(list(self.policy.variables.items())[:known]):
            if re.search(rf"\b{name}\b", program.text) and name not in self.values and name not in self.failures:
                self._work_out(name, variable, index)
        try:
            return self.subject.evaluate(program, {"variables": self.values})
        except EvaluationError as error:
            name = str(error).removeprefix("no such key: ")
            if name in self.failures:
                raise EvaluationError(f'composited variable "{name}" fails to {self.failures[name]}') from None
            raise

    def _work_out(self, name: str, variable: Program | ExpressionError, index: int) -> None:
        if isinstance(variable, ExpressionError):
            self.failures[name] = f"compile: {variable}"
            return
        try:
            self.values[name] = self.evaluate(variable, index)
        except EvaluationError as error:
            self.failures[name] = f"evaluate: {error}"


class Policies(AdmissionPlugin):
    """The policies of one server and their bindings. They are read again when one of them has changed."""

    def __init__(self, storage: Storage, registry: Registry):
        self._storage = storage
        self._registry = registry
        self._matcher = Matcher(storage, registry)
        self._authorizer = Authorizer(storage)
        self._read = (-1, -1)
        self._policies: list[_Policy] = []
        self._bindings: dict[str, list[Obj]] = {}

    def _load(self) -> None:
        logs = self._storage.log(_POLICIES), self._storage.log(_BINDINGS)
        if self._read == (ends := (logs[0].end, logs[1].end)):
            return
        bindings: dict[str, list[Obj]] = {}
        for version in logs[1].select(""):
            binding = version.decode()
            bindings.setdefault(binding["spec"].get("policyName", ""), []).append(binding)
        # A policy without a binding has no effect, so it is not compiled.
        policies = [version.decode() for version in logs[0].select("")] if is_available() else []
        self._policies = [_compile(one) for one in policies if one["metadata"]["name"] in bindings]
        self._bindings, self._read = bindings, ends

    def validate(self, attributes: Attributes) -> None:
        """
        :raises StatusError: the error of the first policy that refuses the write
        """
        self._load()
        if not self._policies or attributes.resource.group_resource in POLICY_RESOURCES:
            return
        refusals = [refusal for policy in self._policies for refusal in self._ask(policy, attributes)]
        if refusals:
            raise _forbidden(attributes, refusals[0])

    def _ask(self, policy: _Policy, attributes: Attributes) -> Iterator[_Refusal]:
        try:
            resource = self._matcher.match(policy.criteria, attributes)
        except NamespaceMissing as error:
            yield from _unusable(policy, "", f"failed to configure policy: {error.status.message}")
            return
        if resource is None:
            return
        for binding in self._bindings[policy.name]:
            name = binding["metadata"]["name"]
            try:
                params = list(self._bound(policy, binding["spec"], attributes))
            except _Misconfigured as error:
                yield from _unusable(policy, name, f"failed to configure binding: {error}")
                continue
            for param in params:
                subject = self._subject(attributes, resource, param)
                for message, reason in _judge(policy, subject):
                    yield from _act(policy, name, binding["spec"], attributes, message, reason)

    def _bound(self, policy: _Policy, spec: Obj, attributes: Attributes) -> Iterator[Obj | None]:
        """The parameters of a binding, one by one (None without any). Yields nothing if it does not match the write."""
        resources = spec.get("matchResources")
        try:
            if resources is not None and self._matcher.match(criteria_of(resources), attributes) is None:
                return
        except NamespaceMissing as error:
            raise _Misconfigured(error.status.message) from None
        yield from self._params(policy.spec.get("paramKind"), spec.get("paramRef"), attributes.namespace)

    def _params(self, kind: Obj | None, reference: Obj | None, namespace: str) -> Iterator[Obj | None]:
        """
        :raises _Misconfigured: if the parameters cannot be found, and that is an error
        """
        if kind is None or reference is None:
            yield None
            return
        version = GroupVersion.parse(kind["apiVersion"])
        resource = self._registry.by_kind(version.group, version.version, kind["kind"])
        if resource is None:
            raise _Misconfigured(f"paramKind kind `{kind['apiVersion']}, Kind={kind['kind']}` not known")
        place = reference.get("namespace") or ""
        if resource.namespaced:
            place = place or namespace
            if not place:
                text = "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
                raise _Misconfigured(text)
        elif place:
            raise _Misconfigured("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
        if name := reference.get("name"):
            one = self._storage.get(resource.storage, place, name)
            found = [one] if one is not None else []
        else:
            selector = label_selector_as_selector(reference.get("selector") or {})
            versions = self._storage.log(resource.storage).select(place)
            found = [version for version in versions if selector.matches(version.labels)]
        if not found and reference.get("parameterNotFoundAction") == "Deny":
            raise _Misconfigured("no params found for policy binding with `Deny` parameterNotFoundAction")
        for stored in found:
            yield {"kind": resource.kind, "apiVersion": resource.api_version, **stored.decode()}

    def _subject(self, attributes: Attributes, resource: Resource, params: Obj | None) -> Subject:
        shown, before = (attributes.seen_as(resource, obj) for obj in (attributes.object, attributes.old_object))
        namespace = None
        if attributes.namespace and attributes.resource.group_resource != _NAMESPACES:
            stored = self._storage.get(_NAMESPACES, "", attributes.namespace)
            if stored is None:
                raise status.not_found(_NAMESPACES, attributes.namespace)
            namespace = stored.decode()
        return Subject(attributes, resource, shown, before, self._authorizer, namespace, params)


def _compile(obj: Obj) -> _Policy:
    spec = obj["spec"]
    has_params = spec.get("paramKind") is not None
    scope = scope_for(has_params=has_params, has_authorizer=True)
    telling = scope_for(has_params=has_params, has_authorizer=False)
    variables: dict[str, Program | ExpressionError] = {}
    if spec.get("variables"):
        scope, telling = scope.with_variable(), telling.with_variable()
    for one in spec.get("variables") or ():
        name, variable = one["name"], compiled(scope, one["expression"])
        variables[name], program = variable, variable if isinstance(variable, Program) else None
        scope, telling = scope.with_variable(name, program), telling.with_variable(name, program)
    validations = []
    for one in spec.get("validations") or ():
        message = compiled(telling, one["messageExpression"], "string") if one.get("messageExpression") else None
        message = message if isinstance(message, Program) else None
        validations.append(_Validation(one, compiled(scope, one["expression"], "bool"), message))
    conditions = Conditions(
        spec.get("matchConditions") or (),
        ignores_failure=spec.get("failurePolicy") == "Ignore",
        has_params=has_params,
    )
    name = obj["metadata"]["name"]
    return _Policy(name, spec, criteria_of(spec["matchConstraints"]), conditions, variables, validations)


def _judge(policy: _Policy, subject: Subject) -> Iterator[tuple[str, str]]:
    """The messages and reasons of a policy's failed expressions."""
    # Conditions cannot use the namespace.
    namespace, subject.namespace = subject.namespace, None
    try:
        if not policy.conditions.hold(subject):
            return
    except ConditionError as error:
        yield str(error), ""
        return
    subject.values["namespaceObject"] = subject.namespace = namespace
    evaluation = _Evaluation(policy, subject)
    for validation in policy.validations:
        text = validation.spec["expression"]
        if isinstance(validation.program, ExpressionError):
            failure = f"compilation error: {validation.program}"
        else:
            try:
                if evaluation.evaluate(validation.program) is True:
                    continue
            except EvaluationError as error:
                failure = f"expression '{text}' resulted in error: {error}"
            else:
                yield _message(validation, evaluation), validation.spec.get("reason") or "Invalid"
                continue
        if not policy.ignores_failure:
            yield failure, ""


def _message(validation: _Validation, evaluation: _Evaluation) -> str:
    if validation.message is not None and (said := told_by(validation.message, evaluation.evaluate)):
        return said
    told = (validation.spec.get("message") or "").strip()
    return told or f"failed expression: {validation.spec['expression'].strip()}"


def _act(
    policy: _Policy, binding: str, spec: Obj, attributes: Attributes, message: str, reason: str
) -> Iterator[_Refusal]:
    for action in spec.get("validationActions") or ():
        if action == "Deny":
            yield _Refusal(policy.name, binding, message, reason)
        elif action == "Warn":
            told = f"Validation failed for ValidatingAdmissionPolicy '{policy.name}' with binding '{binding}'"
            attributes.warnings.append(f"{told}: {message}")
        else:
            log.info("validation_failed", policy=policy.name, binding=binding, message=message)


def _unusable(policy: _Policy, binding: str, message: str) -> Iterator[_Refusal]:
    if not policy.ignores_failure:
        yield _Refusal(policy.name, binding, message)


def _forbidden(attributes: Attributes, refusal: _Refusal) -> status.StatusError:
    error = status.forbidden(attributes.resource.group_resource, attributes.name or "Unknown", refusal.text)
    reason = refusal.reason or "Invalid"
    details = {**(error.details or {}), "causes": [{"message": refusal.text}]}
    return status.StatusError(_CODES.get(reason, 422), reason, error.message, details)
