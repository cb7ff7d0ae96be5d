"""GroupQuotas: limits for the objects of several namespaces, or of one application in any namespace.

::

    apiVersion: quota.kinformer.dev/v1
    kind: GroupQuota
    metadata: {name: shop}
    spec:
      namespaceSelector: {matchLabels: {team: shop}}      # and/or
      application: {name: shop}                           # objects labelled app.kubernetes.io/part-of: shop
      hard: {pods: "50", requests.cpu: "20"}

Both together select this application in these namespaces. Scopes are those of ResourceQuotas. The status is described
in :mod:`~kinformer_controllers.groupquota.record`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from kinformer.meta import (
    GroupVersionResource,
    QuantityError,
    Selector,
    SelectorError,
    accessor_of,
    label_selector_as_selector,
)
from kinformer.meta.resourcelist import ResourceList, is_negative, load
from kinformer_controllers.groupquota.record import EMPTY, Record, RecordError, Reservation, read_record
from kinformer_controllers.shared.quota.limits import SCOPES, Quota, ScopeRequirement, matches_class, scopes_of

__all__ = (
    "GROUP_QUOTAS",
    "KIND",
    "GroupQuota",
    "GroupQuotaError",
    "LabelsOf",
    "MalformedStatus",
    "Selects",
    "hard_of",
    "read_group_quota",
    "selects_of",
)

GROUP_QUOTAS: Final = GroupVersionResource("quota.kinformer.dev", "v1", "groupquotas")
KIND: Final = "GroupQuota"

#: The label with an object's application, unless the quota names another label.
_APPLICATION_LABEL: Final = "app.kubernetes.io/part-of"

#: The labels of a namespace.
LabelsOf = Callable[[str], Mapping[str, str]]


class GroupQuotaError(ValueError):
    """A GroupQuota is invalid. The error names the field."""


class MalformedStatus(GroupQuotaError):
    """The status of a GroupQuota is invalid. A recount replaces it."""


@dataclass(frozen=True, slots=True)
class Selects:
    """
    Decides whether a GroupQuota applies to an object.

    :param namespaces: selects namespaces; None for all
    :param application: the label and the value that an object must have; None for any object
    :param labels_of: returns a namespace's labels
    """

    namespaces: Selector | None
    application: tuple[str, str] | None
    labels_of: LabelsOf

    def __call__(self, namespace: str, obj: Any) -> bool:
        return self.object(obj) and self.namespace(namespace)

    def namespace(self, name: str) -> bool:
        """Whether it applies to objects of this namespace."""
        return self.namespaces is None or self.namespaces.matches(self.labels_of(name))

    def object(self, obj: Any) -> bool:
        """Whether it applies to this object, if it applies to its namespace."""
        if self.application is None:
            return True
        label, name = self.application
        return bool(accessor_of(obj).labels(obj).get(label) == name)


@dataclass(frozen=True, slots=True)
class GroupQuota(Quota):
    """
    A GroupQuota at one version.

    :param record: its reservations
    """

    record: Record = EMPTY

    @property
    def uid(self) -> str:
        return str(self.source["metadata"].get("uid", ""))

    @property
    def is_counted(self) -> bool:
        """Whether its status has a usage."""
        return "used" in (self.source.get("status") or {})


def read_group_quota(
    obj: Mapping[str, Any], labels_of: LabelsOf, known: Mapping[str, Reservation] | None = None
) -> GroupQuota:
    """
    Read a GroupQuota.

    :param known: reservations that were read before, by id
    :raises MalformedStatus: if its status is invalid; its spec is valid then
    :raises GroupQuotaError: if it is invalid
    """
    spec = _mapping(obj, "spec")
    selects = selects_of(obj, labels_of)
    wanted = _amounts(spec.get("hard"), "spec.hard")
    scopes = _scopes(spec)
    hard, used, record = _status(obj, known or {})
    if not record.is_kept:
        # It is new, or was written by an older version of the webhook, which stored no reservations. The usage is not
        # known before a recount, and until then no request is admitted.
        hard, used = wanted, {}
    return GroupQuota("", obj["metadata"]["name"], scopes, hard, used, obj, selects, record)


def _status(obj: Mapping[str, Any], known: Mapping[str, Reservation]) -> tuple[ResourceList, ResourceList, Record]:
    """Return the limits in force, the usage, and the reservations."""
    try:
        status = _mapping(obj, "status")
        hard, used = _amounts(status.get("hard"), "status.hard"), _amounts(status.get("used"), "status.used")
        return hard, used, read_record(status, known)
    except (GroupQuotaError, RecordError) as error:
        raise MalformedStatus(str(error)) from error


def selects_of(obj: Mapping[str, Any], labels_of: LabelsOf) -> Selects:
    """
    Return which objects a GroupQuota applies to.

    :raises GroupQuotaError: if its selector is missing or invalid
    """
    spec = _mapping(obj, "spec")
    namespaces = _namespaces(spec.get("namespaceSelector"))
    application = spec.get("application")
    if namespaces is None and application is None:
        raise GroupQuotaError("spec: it needs a namespaceSelector, an application, or both")
    if application is None:
        return Selects(namespaces, None, labels_of)
    if not isinstance(application, Mapping) or not isinstance(application.get("name"), str):
        raise GroupQuotaError(f"spec.application: {application!r} has no name")
    label = application.get("label") or _APPLICATION_LABEL
    if not isinstance(label, str):
        raise GroupQuotaError(f"spec.application.label: {label!r} is not a text")
    return Selects(namespaces, (label, application["name"]), labels_of)


def hard_of(obj: Mapping[str, Any]) -> ResourceList:
    """
    Return the limits in a GroupQuota's spec.

    :raises GroupQuotaError: if one of them is not a valid quantity, or negative
    """
    return _amounts(_mapping(obj, "spec").get("hard"), "spec.hard")


def _mapping(obj: Mapping[str, Any], field: str) -> Mapping[str, Any]:
    value = obj.get(field) or {}
    if not isinstance(value, Mapping):
        raise GroupQuotaError(f"{field}: {value!r} is not an object")
    return value


def _namespaces(selector: Any) -> Selector | None:
    if selector is None:
        return None
    try:
        return label_selector_as_selector(selector)
    except (SelectorError, TypeError, AttributeError, KeyError) as error:
        raise GroupQuotaError(f"spec.namespaceSelector: {error}") from error


def _amounts(texts: Any, field: str) -> ResourceList:
    if texts is not None and not isinstance(texts, Mapping):
        raise GroupQuotaError(f"{field}: {texts!r} is not an object of amounts")
    try:
        amounts = load(texts)
    except QuantityError as error:
        raise GroupQuotaError(f"{field}: {error}") from error
    if field == "spec.hard" and (negative := is_negative(amounts)):
        raise GroupQuotaError(
            f"{field}: {', '.join(f'{name} is {amounts[name]}' for name in negative)}: want 0 or more"
        )
    return amounts


def _scopes(spec: Mapping[str, Any]) -> tuple[ScopeRequirement, ...]:
    try:
        scopes = scopes_of(spec.get("scopes"), spec.get("scopeSelector"))
    except (AttributeError, TypeError) as error:
        raise GroupQuotaError("spec.scopes, spec.scopeSelector: not as a ResourceQuota has them") from error
    for requirement in scopes:
        if requirement.scope not in SCOPES:
            raise GroupQuotaError(f"spec: unknown scope {requirement.scope!r}: want one of {', '.join(sorted(SCOPES))}")
        try:
            matches_class(requirement, ())
        except ValueError as error:
            raise GroupQuotaError(f"spec.scopeSelector: {requirement}: {error}") from error
    return scopes
