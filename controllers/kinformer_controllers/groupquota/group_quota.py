"""GroupQuotas: limits for the objects of several namespaces, or of one application wherever it is.

::

    apiVersion: quota.kinformer.dev/v1
    kind: GroupQuota
    metadata: {name: shop}
    spec:
      namespaceSelector: {matchLabels: {team: shop}}      # and/or
      application: {name: shop}                           # objects labelled app.kubernetes.io/part-of: shop
      hard: {pods: "50", requests.cpu: "20"}

Both together mean that application in those namespaces. Scopes are those of ResourceQuotas. The status is in
:mod:`~kinformer_controllers.groupquota.record`.
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
from kinformer_controllers.shared.quota.limits import Quota
from kinformer_controllers.shared.quota.scopes import SCOPES, ScopeRequirement, matches_class, scopes_of

__all__ = (
    "APPLICATION_LABEL",
    "GROUP_QUOTAS",
    "KIND",
    "GroupQuota",
    "GroupQuotaError",
    "LabelsOf",
    "MalformedStatus",
    "Selects",
    "hard_of",
    "has_malformed_status",
    "read_group_quota",
    "selects_of",
)

GROUP_QUOTAS: Final = GroupVersionResource("quota.kinformer.dev", "v1", "groupquotas")
KIND: Final = "GroupQuota"

#: The label that tells an object's application, unless the quota says another one.
APPLICATION_LABEL: Final = "app.kubernetes.io/part-of"

#: The labels of a namespace.
LabelsOf = Callable[[str], Mapping[str, str]]


class GroupQuotaError(ValueError):
    """A GroupQuota does not make sense; the text names the field."""


class MalformedStatus(GroupQuotaError):
    """The status of a GroupQuota does not make sense. A recount writes another."""


@dataclass(frozen=True, slots=True)
class Selects:
    """
    Whether an object of a namespace is one of those that a GroupQuota is for.

    :param namespaces: which namespaces it is for; all if None
    :param application: the label, and its value, that an object must have; any object if None
    :param labels_of: gives a namespace's labels, when an object of it is looked at
    """

    namespaces: Selector | None
    application: tuple[str, str] | None
    labels_of: LabelsOf

    def __call__(self, namespace: str, obj: Any) -> bool:
        return self.object(obj) and self.namespace(namespace)

    def namespace(self, name: str) -> bool:
        """Whether it is for objects of this namespace."""
        return self.namespaces is None or self.namespaces.matches(self.labels_of(name))

    def object(self, obj: Any) -> bool:
        """Whether it is for this object, if it is for its namespace."""
        if self.application is None:
            return True
        label, name = self.application
        return bool(accessor_of(obj).labels(obj).get(label) == name)

    def tells_apart(self, labels: Mapping[str, str], others: Mapping[str, str]) -> bool:
        """Whether a namespace with these labels is one of its own and with the others not, or the other way round."""
        return self.namespaces is not None and self.namespaces.matches(labels) != self.namespaces.matches(others)


@dataclass(frozen=True, slots=True)
class GroupQuota(Quota):
    """
    A GroupQuota at one version.

    :param record: what is reserved of it
    """

    record: Record = EMPTY

    @property
    def uid(self) -> str:
        return str(self.source["metadata"].get("uid", ""))

    @property
    def is_counted(self) -> bool:
        """Whether its status tells a usage."""
        return "used" in (self.source.get("status") or {})


def read_group_quota(
    obj: Mapping[str, Any], labels_of: LabelsOf, known: Mapping[str, Reservation] | None = None
) -> GroupQuota:
    """
    Read a GroupQuota.

    :param known: reservations that were read before, by id
    :raises MalformedStatus: if its status does not make sense; what it asks for does
    :raises GroupQuotaError: if it does not make sense
    """
    spec = _mapping(obj, "spec")
    selects = selects_of(obj, labels_of)
    wanted = _amounts(spec.get("hard"), "spec.hard")
    scopes = _scopes(spec)
    hard, used, record = _status(obj, known or {})
    if not record.is_kept:
        # New, or of an older version of the webhook, whose reservations are nowhere: what is used is not known before
        # it is counted, and nothing that it limits is admitted.
        hard, used = wanted, {}
    return GroupQuota("", obj["metadata"]["name"], scopes, hard, used, obj, selects, record)


def has_malformed_status(obj: Mapping[str, Any]) -> bool:
    """Whether a GroupQuota's status has to be written anew before anything can be charged to it."""
    try:
        _status(obj, {})
    except MalformedStatus:
        return True
    return False


def _status(obj: Mapping[str, Any], known: Mapping[str, Reservation]) -> tuple[ResourceList, ResourceList, Record]:
    """Limits in force, usage, and what of it is reserved."""
    try:
        status = _mapping(obj, "status")
        hard, used = _amounts(status.get("hard"), "status.hard"), _amounts(status.get("used"), "status.used")
        return hard, used, read_record(status, known)
    except (GroupQuotaError, RecordError) as error:
        raise MalformedStatus(str(error)) from error


def selects_of(obj: Mapping[str, Any], labels_of: LabelsOf) -> Selects:
    """
    Which objects a GroupQuota is about.

    :raises GroupQuotaError: if it does not say
    """
    spec = _mapping(obj, "spec")
    namespaces = _namespaces(spec.get("namespaceSelector"))
    application = spec.get("application")
    if namespaces is None and application is None:
        raise GroupQuotaError("spec: say a namespaceSelector, an application, or both")
    if application is None:
        return Selects(namespaces, None, labels_of)
    if not isinstance(application, Mapping) or not isinstance(application.get("name"), str):
        raise GroupQuotaError(f"spec.application: {application!r} has no name")
    label = application.get("label") or APPLICATION_LABEL
    if not isinstance(label, str):
        raise GroupQuotaError(f"spec.application.label: {label!r} is not a text")
    return Selects(namespaces, (label, application["name"]), labels_of)


def hard_of(obj: Mapping[str, Any]) -> ResourceList:
    """
    The limits that a GroupQuota asks for.

    :raises GroupQuotaError: if one of them is no quantity, or negative
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
