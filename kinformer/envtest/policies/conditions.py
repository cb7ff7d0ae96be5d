"""The variables of expressions for one write, and ``matchConditions``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kinformer.envtest.access import Action, Authorizer
from kinformer.envtest.admission import Attributes, User
from kinformer.envtest.policies.matching import namespace_of
from kinformer.envtest.registry import Resource
from kinformer.expressions import EvaluationError, Program
from kinformer.expressions.access import authorizer, resource_check
from kinformer.expressions.admission import ExpressionError, Scope, scope_for

__all__ = ("ConditionError", "Conditions", "Subject", "compiled", "request_of")


class ConditionError(Exception):
    """Conditions cannot be evaluated, and the failure policy is not ``Ignore``."""


@dataclass(slots=True)
class Subject:
    """
    A write for which expressions are evaluated.

    :param resource: the resource at the version of the object
    :param object: the object, with kind and apiVersion. None for a delete
    """

    attributes: Attributes
    resource: Resource
    object: Mapping[str, Any] | None
    old_object: Mapping[str, Any] | None
    authorizer: Authorizer
    namespace: Mapping[str, Any] | None = None
    params: Mapping[str, Any] | None = None
    _values: dict[str, Any] = field(default_factory=dict, init=False)

    @property
    def values(self) -> dict[str, Any]:
        """The values of the expressions' variables."""
        if not self._values:
            asked = self.attributes
            self._values = {
                "object": self.object,
                "oldObject": self.old_object,
                "request": request_of(asked, self.resource),
                "namespaceObject": self.namespace,
                "params": self.params,
                "authorizer": authorizer(),
                "authorizer.requestResource": resource_check(
                    group=asked.resource.group,
                    resource=asked.resource.plural,
                    subresource=asked.subresource,
                    namespace=namespace_of(asked),
                    name=asked.asked_name,
                ),
            }
        return self._values

    def evaluate(self, program: Program, more: Mapping[str, Any] | None = None) -> Any:
        """
        :raises EvaluationError: if the evaluation fails
        """
        return program.evaluate({**self.values, **(more or {})}, self)

    def allows(self, check: Mapping[str, str], verb: str) -> bool:
        """See :class:`~kinformer.expressions.AccessCheck`."""
        user = self.attributes.user
        if account := check.get("user"):
            namespace = account.split(":")[2]
            user = User(
                account,
                groups=("system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated"),
            )
        if "path" in check:
            return self.authorizer.allows(user, Action(verb, path=check["path"]))
        parts = [check.get(name, "") for name in ("group", "resource", "subresource", "namespace", "name")]
        return self.authorizer.allows(user, Action(verb, *parts))


def request_of(attributes: Attributes, resource: Resource) -> dict[str, Any]:
    """
    The request of an AdmissionReview, without the objects. It is also the variable ``request`` of expressions.

    :param resource: the resource, at the version that the webhook or the policy is sent
    """
    asked, options = attributes.resource, dict(attributes.options)
    own, said = (attributes.gvk or one.gvk for one in (resource, asked))
    if options.get("kind") == "PatchOptions":
        options["kind"] = f"{attributes.operation.capitalize()}Options"
    request: dict[str, Any] = {
        "kind": {"group": own.group, "version": own.version, "kind": own.kind},
        "resource": {"group": resource.group, "version": resource.version, "resource": resource.plural},
        "requestKind": {"group": said.group, "version": said.version, "kind": said.kind},
        "requestResource": {"group": asked.group, "version": asked.version, "resource": asked.plural},
        "operation": attributes.operation,
        "userInfo": attributes.user.info,
        "dryRun": attributes.dry_run,
        "options": options or None,
    }
    if attributes.subresource:
        request["subResource"] = request["requestSubResource"] = attributes.subresource
    if name := attributes.asked_name:
        request["name"] = name
    if namespace := namespace_of(attributes):
        request["namespace"] = namespace
    return request


def compiled(scope: Scope, text: str, *types: str) -> Program | ExpressionError:
    """The program of an expression, or the error of the compiler."""
    try:
        return scope.compile(text, *types)
    except ExpressionError as error:
        return error


class Conditions:
    """
    The ``matchConditions`` of a webhook or a policy, which is called only if all of them are true.

    :param ignores_failure: whether the failure policy is ``Ignore``
    :param has_params: whether they belong to a policy with parameters
    """

    def __init__(self, conditions: Iterable[Mapping[str, Any]], *, ignores_failure: bool, has_params: bool = False):
        self._ignores_failure = ignores_failure
        scope = scope_for(has_params=has_params, has_authorizer=True)
        texts = [condition["expression"] for condition in conditions]
        self._programs = [(text, compiled(scope, text, "bool")) for text in texts]

    def hold(self, subject: Subject) -> bool:
        """
        Whether all conditions are true. If one is false, the others do not matter.

        :raises ConditionError: if one cannot be evaluated, none is false, and the failure policy is not ``Ignore``
        """
        errors: list[str] = []
        for text, program in self._programs:
            if isinstance(program, ExpressionError):
                errors.append(f"compilation error: {program}")
                continue
            try:
                if subject.evaluate(program) is False:
                    return False
            except EvaluationError as error:
                errors.append(f"expression '{text}' resulted in error: {error}")
        if errors and not self._ignores_failure:
            several = list(dict.fromkeys(errors))
            raise ConditionError(several[0] if len(several) == 1 else f"[{', '.join(several)}]")
        return not errors
