"""Validation of the configurations of admission webhooks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from urllib.parse import urlsplit

from kinformer.envtest.causes import forbidden, invalid, required, too_many
from kinformer.envtest.status import Cause
from kinformer.envtest.strategy import fields as f
from kinformer.envtest.strategy.base import Obj
from kinformer.envtest.strategy.checks import check_port, repeats
from kinformer.expressions import MISSING, is_available
from kinformer.expressions.admission import ExpressionError, Scope, scope_for
from kinformer.meta.validation import dns1035_label_errors, dns1123_subdomain_errors

__all__ = (
    "CHECK_WEBHOOKS",
    "RULE",
    "check_client",
    "check_expression",
    "check_match_conditions",
    "check_review_versions",
)

_VERSIONS = ("v1", "v1beta1")
_MOST_CONDITIONS = 64
_CONDITION_NAME = f.Needed(f.QUALIFIED_NAME)
_URL = "; desired format: https://host[/path]"


def check_match_conditions(conditions: Sequence[Obj], field: str, *, has_params: bool = False) -> Iterator[Cause]:
    """
    Check match conditions.

    :param has_params: whether they may use the variable ``params``
    """
    if len(conditions) > _MOST_CONDITIONS:
        yield too_many(field, len(conditions), _MOST_CONDITIONS)
    if conditions and not is_available():
        yield forbidden(field, MISSING)
        return

    def check(text: str | None, path: str) -> Iterable[Cause]:
        if not (text := (text or "").strip()):
            return (required(path),)
        return check_expression(text, path, scope_for(has_params=has_params, has_authorizer=True), ["bool"])

    row = f.Fields(expression=check, name=_CONDITION_NAME)
    yield from f.Each(row, f.Unique("name", counts=bool))(conditions, field)


def check_expression(text: str, path: str, scope: Scope, types: Sequence[str]) -> Iterator[Cause]:
    """
    Check that an expression compiles.

    :param types: those that its value may have
    """
    try:
        scope.compile(text, *types)
    except ExpressionError as error:
        yield invalid(path, text, str(error))


def _check_name(name: str, path: str) -> Iterator[Cause]:
    if wrong := dns1123_subdomain_errors(name):
        yield invalid(path, name, ".".join(wrong))
    elif name.count(".") < 2:
        yield invalid(path, name, "should be a domain with at least three segments separated by dots")


def _all_or(what: str) -> f.Check:
    """Check that ``*`` stands alone."""
    text = f"if '*' is present, must not specify other {what}"
    return f.Must(lambda listed: len(listed) == 1 or "*" not in listed, text)


def _check_resources(resources: Sequence[str], field: str) -> Iterator[Cause]:
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


RULE = f.Fields(
    operations=f.Needed(_all_or("operations"), f.Each(f.OneOf("*", "CONNECT", "CREATE", "DELETE", "UPDATE"))),
    apiGroups=f.Needed(_all_or("API groups")),
    apiVersions=f.Needed(_all_or("API versions"), f.Each(f.Needed())),
    resources=f.Needed(f.Each(f.Needed()), _check_resources),
    scope=f.Given(f.OneOf("*", "Cluster", "Namespaced")),
)


def check_client(client: Obj | None, path: str) -> Iterator[Cause]:
    """Check how a webhook is reached."""
    client = client or {}
    if (client.get("url") is None) == (client.get("service") is None):
        yield required(path, "exactly one of url or service is required")
    else:
        yield from _CLIENT(client, path)


def _check_service(service: Obj, field: str) -> Iterator[Cause]:
    """Check the reference to the service of a webhook."""
    yield from _SERVICE(service, field)
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


def _check_url(url: str, field: str) -> Iterator[Cause]:
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
    versions: Sequence[str] | None, field: str, told: str = f"must specify one of {', '.join(_VERSIONS)}"
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


_SERVICE = f.Fields(name=f.Needed(), namespace=f.Needed())
_CLIENT = f.Fields(url=f.Given(_check_url), service=f.Given(_check_service))
_WEBHOOK = f.Fields(
    name=f.Needed(_check_name),
    rules=f.Each(RULE),
    failurePolicy=f.Given(f.OneOf("Fail", "Ignore")),
    matchPolicy=f.Given(f.OneOf("Equivalent", "Exact")),
    sideEffects=f.Present(f.OneOf("None", "NoneOnDryRun"), detail="must specify one of None, NoneOnDryRun"),
    reinvocationPolicy=f.Given(f.OneOf("IfNeeded", "Never")),
    timeoutSeconds=f.Between(1, 30, "the timeout value must be between 1 and 30 seconds"),
    namespaceSelector=f.LABEL_SELECTOR,
    objectSelector=f.LABEL_SELECTOR,
    clientConfig=check_client,
    matchConditions=f.Given(check_match_conditions),
    admissionReviewVersions=check_review_versions,
)
CHECK_WEBHOOKS = f.Fields(webhooks=f.Each(_WEBHOOK, f.Unique("name", counts=bool)))
