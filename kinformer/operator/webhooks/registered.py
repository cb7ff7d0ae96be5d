"""Hooks: registered functions, with when and how the API server calls them.

:class:`HookOptions` are the keywords of the decorators of :class:`~kinformer.operator.webhooks.Webhooks`. They are
checked when a function is registered, so the traceback of a wrong value shows the line that has it. The API server
evaluates selectors and conditions itself. For a request that does not match, it does not call the webhook.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypedDict

from kinformer.arguments import want_several
from kinformer.client.keywords import check_names
from kinformer.meta import parse_selector
from kinformer.meta.selectors import Operator
from kinformer.models import ResourceInfo, resource_for

__all__ = ("Hook", "HookOptions", "hook_settings")

_CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "failure_policy": ("Fail", "Ignore"),
    "side_effects": ("None", "NoneOnDryRun"),
    "match_policy": ("Equivalent", "Exact"),
    "reinvocation": ("Never", "IfNeeded"),
}
_OPERATIONS: Final = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")

#: The operators of a selector's text, as a LabelSelector has them.
_OPERATORS: Final = {
    Operator.EQUALS: "In",
    Operator.DOUBLE_EQUALS: "In",
    Operator.IN: "In",
    Operator.NOT_EQUALS: "NotIn",
    Operator.NOT_IN: "NotIn",
    Operator.EXISTS: "Exists",
    Operator.DOES_NOT_EXIST: "DoesNotExist",
}

#: The metadata of the object that is written or deleted.
_ANNOTATIONS: Final = "(object == null ? oldObject : object).metadata"


class HookOptions(TypedDict, total=False):
    """
    When and how the API server calls a function.

    - `operations`: some of ``CREATE``, ``UPDATE``, ``DELETE``, ``CONNECT``, or ``*``; by default ``CREATE`` and
      ``UPDATE``;
    - `subresources`: names such as ``status``, ``""`` for the object itself, or ``*``; by default only the object
      itself;
    - `object_selector`: a label selector in kubectl's form, ``team=a,!legacy``. The function is called if the object
      matches, before or after the change;
    - `namespace_selector`: the same for the labels of the object's namespace;
    - `annotations`: annotations that the object must have: a value, True for any value, or False for none;
    - `match_conditions`: CEL expressions by name; the webhook is called only if all of them are true;
    - `match_policy`: ``Equivalent`` (the default): also for requests in other versions of the kind, which the API
      server converts; ``Exact``: only for this version;
    - `failure_policy`: what happens to a request if the webhook cannot be called or fails: ``Fail`` (the default) or
      ``Ignore``;
    - `side_effects`: ``None`` (the default), or ``NoneOnDryRun`` if the function changes something outside the cluster.
      It must not do so if ``request.dry_run`` is set;
    - `reinvocation`: ``Never`` (the default), or ``IfNeeded``: call a mutating function again if another webhook has
      changed the object after it;
    - `timeout`: the number of seconds that the API server waits; 10 by default, 30 at most;
    - `path`: the URL path of the webhook; by default it is made from the type.
    """

    operations: Sequence[Literal["CREATE", "UPDATE", "DELETE", "CONNECT", "*"]]
    subresources: Sequence[str]
    object_selector: str
    namespace_selector: str
    annotations: Mapping[str, str | bool]
    match_conditions: Mapping[str, str] | None
    match_policy: Literal["Equivalent", "Exact"]
    failure_policy: Literal["Fail", "Ignore"]
    side_effects: Literal["None", "NoneOnDryRun"]
    reinvocation: Literal["Never", "IfNeeded"]
    timeout: int
    path: str


@dataclass(frozen=True, slots=True)
class Hook:
    """
    A registered function; see :class:`HookOptions`.

    :param mutates: whether it may change the object
    :param path: the URL path, by default as in controller-runtime: ``/validate-example-com-v1-webapp``
    """

    function: Any
    type: type[Any]
    resource: ResourceInfo
    mutates: bool
    operations: tuple[str, ...]
    subresources: tuple[str, ...]
    object_selector: str
    namespace_selector: str
    match_conditions: tuple[tuple[str, str], ...]
    match_policy: str
    failure_policy: str
    side_effects: str
    reinvocation: str
    timeout: int
    path: str

    def manifest(self, name: str, client_config: Mapping[str, Any]) -> dict[str, Any]:
        """
        The webhook as an entry of a webhook configuration.

        :param name: its name there
        :param client_config: how the API server reaches it
        """
        resource = self.resource
        made: dict[str, Any] = {
            "name": name,
            "clientConfig": client_config,
            "rules": [
                {
                    "operations": list(self.operations),
                    "apiGroups": [resource.group],
                    "apiVersions": [resource.version],
                    "resources": [f"{resource.plural}/{sub}" if sub else resource.plural for sub in self.subresources],
                    "scope": "Namespaced" if resource.namespaced else "Cluster",
                }
            ],
            "namespaceSelector": _label_selector(self.namespace_selector),
            "objectSelector": _label_selector(self.object_selector),
            "matchPolicy": self.match_policy,
            "failurePolicy": self.failure_policy,
            "sideEffects": self.side_effects,
            "timeoutSeconds": self.timeout,
            "admissionReviewVersions": ["v1"],
        }
        if self.mutates:
            made["reinvocationPolicy"] = self.reinvocation
        if self.match_conditions:
            made["matchConditions"] = [{"name": key, "expression": text} for key, text in self.match_conditions]
        return made


def hook_settings(type_: type[Any], mutates: bool, options: HookOptions) -> dict[str, Any]:
    """
    Check options. Returns the fields of a :class:`Hook`, except its function.

    :raises TypeError: if there is no such option
    :raises ValueError: if the value of an option is not valid
    :raises LookupError: if the type is not a known model or custom resource
    """
    check_names(options, HookOptions)
    resource = resource_for(type_)
    operations, timeout = options.get("operations", ("CREATE", "UPDATE")), options.get("timeout", 10)
    want_several(operations, "operations", "a tuple, as in operations=('CREATE',)")
    want_several(options.get("subresources", ()), "subresources", "a tuple, as in subresources=('status',)")
    if unknown := [operation for operation in operations if operation not in _OPERATIONS]:
        raise ValueError(f"{unknown[0]!r} is not an operation: want some of {', '.join(_OPERATIONS)}")
    chosen = {name: str(options.get(name, values[0])) for name, values in _CHOICES.items()}
    for name, value in chosen.items():
        if value not in _CHOICES[name]:
            raise ValueError(f"{name} is {value!r}: want {' or '.join(_CHOICES[name])}")
    if not mutates and "reinvocation" in options:
        raise ValueError("reinvocation is only for mutating webhooks: validating ones see the object as it is stored")
    if not 1 <= timeout <= 30:
        raise ValueError(f"the timeout is {timeout} s: want 1 to 30")
    selectors = {name: str(options.get(name, "")) for name in ("object_selector", "namespace_selector")}
    for name, text in selectors.items():
        try:
            _label_selector(text)
        except ValueError as error:
            raise ValueError(f"{name} is {text!r}: {error}") from None
    conditions = {**(options.get("match_conditions") or {})}
    if annotations := options.get("annotations"):
        conditions = {"annotations": " && ".join(_condition(*one) for one in annotations.items())} | conditions
    return {
        "type": type_,
        "resource": resource,
        "mutates": mutates,
        "operations": tuple(operations),
        "subresources": tuple(options.get("subresources", ("",))),
        "match_conditions": tuple(conditions.items()),
        "timeout": timeout,
        "path": options.get("path") or _path_of(resource, "mutate" if mutates else "validate"),
        **selectors,
        **chosen,
    }


def _label_selector(text: str) -> dict[str, Any]:
    """
    The text of a selector as a LabelSelector.

    :raises ValueError: if it is not a selector, or has an operator that a LabelSelector lacks
    """
    expressions = []
    for requirement in parse_selector(text).requirements:
        if requirement.operator not in _OPERATORS:
            raise ValueError(f"{requirement.operator.value!r} is not an operator of selectors of objects")
        values = {"values": list(requirement.values)} if requirement.values else {}
        expressions.append({"key": requirement.key, "operator": _OPERATORS[requirement.operator], **values})
    return {"matchExpressions": expressions} if expressions else {}


def _condition(name: str, wanted: str | bool) -> str:
    """The CEL expression for one annotation."""
    key = json.dumps(name)
    there = f"has({_ANNOTATIONS}.annotations) && {key} in {_ANNOTATIONS}.annotations"
    if wanted is False:
        return f"!({there})"
    if wanted is True:
        return f"({there})"
    return f"({there} && {_ANNOTATIONS}.annotations[{key}] == {json.dumps(wanted, ensure_ascii=False)})"


def _path_of(resource: ResourceInfo, verb: str) -> str:
    group = resource.group.replace(".", "-")
    return f"/{verb}-{group}-{resource.version}-{resource.kind.lower()}"
