"""Validation of the configurations of admission webhooks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import urlsplit

from kinformer.envtest.status import Cause
from kinformer.envtest.strategy.base import Obj, Strategy
from kinformer.envtest.strategy.checks import (
    check_label_selector,
    check_port,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    repeats,
    required,
)
from kinformer.expressions import MISSING, is_available
from kinformer.expressions.admission import ExpressionError, scope_for
from kinformer.meta.validation import dns1035_label_errors, dns1123_subdomain_errors, label_key_errors

__all__ = (
    "WebhookStrategy",
    "check_client_service",
    "check_match_conditions",
    "check_review_versions",
    "check_rule",
    "check_url",
)

_CHOICES = {
    "failurePolicy": ("Fail", "Ignore"),
    "matchPolicy": ("Equivalent", "Exact"),
    "sideEffects": ("None", "NoneOnDryRun"),
    "reinvocationPolicy": ("IfNeeded", "Never"),
}
_OPERATIONS = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_SCOPES = ("*", "Cluster", "Namespaced")
_VERSIONS = ("v1", "v1beta1")
_MOST_CONDITIONS = 64
_URL = "; desired format: https://host[/path]"


class WebhookStrategy(Strategy):
    """Validating and mutating webhooks."""

    def counts(self, obj: Obj, old: Obj) -> bool:
        return bool(obj.get("webhooks") != old.get("webhooks"))

    def validate(self, obj: Obj) -> list[Cause]:
        causes: list[Cause] = []
        names: set[str] = set()
        for index, webhook in enumerate(obj.get("webhooks") or ()):
            field = f"webhooks[{index}]"
            causes += _check(webhook, field)
            name = webhook.get("name")
            if name and name in names:
                causes.append(duplicate(f"{field}.name", name))
            names.add(name)
        return causes


def _check(webhook: Obj, field: str) -> Iterator[Cause]:
    yield from _check_name(webhook.get("name") or "", f"{field}.name")
    for index, rule in enumerate(webhook.get("rules") or ()):
        yield from check_rule(rule, f"{field}.rules[{index}]")
    for name, choices in _CHOICES.items():
        value = webhook.get(name)
        if value is None and name == "sideEffects":
            yield required(f"{field}.{name}", f"must specify one of {', '.join(choices)}")
        elif value is not None and value not in choices:
            yield not_supported(f"{field}.{name}", value, choices)
    seconds = webhook.get("timeoutSeconds")
    if seconds is not None and not 1 <= seconds <= 30:
        yield invalid(f"{field}.timeoutSeconds", seconds, "the timeout value must be between 1 and 30 seconds")
    for name in ("namespaceSelector", "objectSelector"):
        yield from check_label_selector(webhook.get(name), f"{field}.{name}")
    yield from _check_client(webhook.get("clientConfig") or {}, f"{field}.clientConfig")
    yield from check_match_conditions(webhook.get("matchConditions") or (), f"{field}.matchConditions")
    yield from check_review_versions(webhook.get("admissionReviewVersions") or (), f"{field}.admissionReviewVersions")


def check_match_conditions(conditions: Sequence[Obj], field: str, *, has_params: bool = False) -> Iterator[Cause]:
    """
    Check match conditions.

    :param has_params: whether they may use the variable ``params``
    """
    if len(conditions) > _MOST_CONDITIONS:
        text = f"Too many: {len(conditions)}: must have at most {_MOST_CONDITIONS} items"
        yield Cause(field, "FieldValueTooMany", text)
    if conditions and not is_available():
        yield forbidden(field, MISSING)
        return
    names = [one.get("name") or "" for one in conditions]
    again = repeats(names)
    for index, condition in enumerate(conditions):
        here, text = f"{field}[{index}]", (condition.get("expression") or "").strip()
        if not text:
            yield required(f"{here}.expression")
        else:
            try:
                scope_for(has_params=has_params, has_authorizer=True).compile(text, "bool")
            except ExpressionError as error:
                yield invalid(f"{here}.expression", text, str(error))
        if not names[index]:
            yield required(f"{here}.name")
        for wrong in label_key_errors(names[index]) if names[index] else ():
            yield invalid(f"{here}.name", names[index], wrong)
        if names[index] and again[index]:
            yield duplicate(f"{here}.name", names[index])


def _check_name(name: str, field: str) -> Iterator[Cause]:
    if not name:
        yield required(field)
        return
    wrong = dns1123_subdomain_errors(name)
    if wrong:
        yield invalid(field, name, ".".join(wrong))
    elif name.count(".") < 2:
        yield invalid(field, name, "should be a domain with at least three segments separated by dots")


def check_rule(rule: Obj, field: str) -> Iterator[Cause]:
    operations = rule.get("operations") or ()
    if not operations:
        yield required(f"{field}.operations")
    if len(operations) > 1 and "*" in operations:
        yield invalid(f"{field}.operations", operations, "if '*' is present, must not specify other operations")
    for index, operation in enumerate(operations):
        if operation not in _OPERATIONS:
            yield not_supported(f"{field}.operations[{index}]", operation, _OPERATIONS)
    for name, what in (("apiGroups", "API groups"), ("apiVersions", "API versions")):
        listed: Sequence[str] = rule.get(name) or ()
        if not listed:
            yield required(f"{field}.{name}")
        if len(listed) > 1 and "*" in listed:
            yield invalid(f"{field}.{name}", listed, f"if '*' is present, must not specify other {what}")
        for index, one in enumerate(listed if name == "apiVersions" else ()):
            if not one:
                yield required(f"{field}.{name}[{index}]")
    yield from _check_resources(rule.get("resources") or (), f"{field}.resources")
    if (scope := rule.get("scope")) is not None and scope not in _SCOPES:
        yield not_supported(f"{field}.scope", scope, _SCOPES)


def _check_resources(resources: Sequence[str], field: str) -> Iterator[Cause]:
    if not resources:
        yield required(field)
    for index, resource in enumerate(resources):
        if not resource:
            yield required(f"{field}[{index}]")
    seen: set[str] = set()
    for index, resource in enumerate(resources):
        name, slash, part = resource.partition("/")
        if not slash:
            continue
        for pattern in (f"{name}/*", f"*/{part}"):
            if pattern in seen:
                text = f"if '{pattern}' is present, must not specify {resource}"
                yield invalid(f"{field}[{index}]", resource, text)
        seen |= {resource} if "*" in (name, part) else set()
    if len(resources) > 1 and "*/*" in resources:
        yield invalid(field, resources, "if '*/*' is present, must not specify other resources")
    if "*" in resources and any("/" not in one and one != "*" for one in resources):
        text = "if '*' is present, must not specify other resources without subresources"
        yield invalid(field, resources, text)


def _check_client(client: Obj, field: str) -> Iterator[Cause]:
    url, service = client.get("url"), client.get("service")
    if (url is None) == (service is None):
        yield required(field, "exactly one of url or service is required")
    elif url is not None:
        yield from check_url(url, f"{field}.url")
    elif service is not None:
        yield from check_client_service(service, f"{field}.service")


def check_client_service(service: Obj, field: str) -> Iterator[Cause]:
    """Check the reference to the service of a webhook."""
    for name in ("name", "namespace"):
        if not service.get(name):
            yield required(f"{field}.{name}")
    for cause in check_port(service.get("port") or 0, f"{field}.port"):
        yield cause._replace(message=cause.message.replace(": must", ": port is not valid: must"))
    path: Any = service.get("path")
    if not path or path == "/":
        return
    if path == "//":
        yield invalid(f"{field}.path", path, "segment[0] may not be empty")
        return
    if not path.startswith("/"):
        yield invalid(f"{field}.path", path, "must start with a '/'")
    for index, step in enumerate(path[1:].removesuffix("/").split("/")):
        if not step:
            yield invalid(f"{field}.path", path, f"segment[{index}] may not be empty")
        for wrong in dns1123_subdomain_errors(step) if step else ():
            yield invalid(f"{field}.path", path, f"segment[{index}]: {wrong}")


def check_url(url: str, field: str) -> Iterator[Cause]:
    """Check the URL of a webhook."""
    try:
        parts = urlsplit(url)
    except ValueError as error:
        yield required(field, f"url must be a valid URL: {error}{_URL}")
        return
    if parts.scheme != "https":
        yield invalid(field, parts.scheme, f"'https' is the only allowed URL scheme{_URL}")
    user, at, host = parts.netloc.rpartition("@")
    if not host:
        yield invalid(field, host, f"host must be specified{_URL}")
    if at:
        yield invalid(field, user, "user information is not permitted in the URL")
    if parts.fragment:
        yield invalid(field, parts.fragment, "fragments are not permitted in the URL")
    if parts.query:
        yield invalid(field, parts.query, "query parameters are not permitted in the URL")


def check_review_versions(
    versions: Sequence[str], field: str, told: str = f"must specify one of {', '.join(_VERSIONS)}"
) -> Iterator[Cause]:
    """
    Check the versions of reviews that a webhook accepts.

    :param told: the error text if there are none
    """
    if not versions:
        yield required(field, told)
        return
    for index, (version, again) in enumerate(zip(versions, repeats(versions), strict=True)):
        if again:
            yield invalid(f"{field}[{index}]", version, "duplicate version")
            continue
        for wrong in dns1035_label_errors(version):
            yield invalid(f"{field}[{index}]", version, wrong)
    if not any(version in _VERSIONS for version in versions):
        yield invalid(field, versions, f"must include at least one of {', '.join(_VERSIONS)}")
