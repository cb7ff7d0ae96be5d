"""The check whether a request stays within all quotas that apply to it, and the usage of each afterwards.

It is the same check that kube-apiserver makes, with the same order of rules and the same messages. It does no I/O: it
takes quotas, and returns them with the new usage.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kinformer.meta import GroupResource, accessor_of
from kinformer.meta.resourcelist import (
    Amounts,
    ResourceList,
    add,
    exceeding,
    is_negative,
    mask,
    remove_zeros,
    subtract_non_negative,
)
from kinformer_controllers.shared.quota.evaluator import CREATE, UPDATE, ConstraintError, Evaluator, Request
from kinformer_controllers.shared.quota.limits import Quota, ScopeError, ScopeRequirement

__all__ = ("LimitedResource", "QuotaRefused", "UncoveredScopes", "changed", "check_request", "request_name")


class QuotaRefused(Exception):
    """
    A request is refused. The text of the error is the same as in kube-apiserver's answer.

    :ivar name: the name of the request's object in the answer
    :ivar reason: the reason, without the object
    """

    def __init__(self, request: Request, reason: str) -> None:
        self.resource = request.resource
        self.name = request_name(request)
        self.reason = reason
        super().__init__(f'{request.resource} "{self.name}" is forbidden: {reason}')


class UncoveredScopes(Exception):
    """A request has limited scopes that no quota covers."""


@dataclass(frozen=True, slots=True)
class LimitedResource:
    """
    A resource that may only be used under a quota, as in kube-apiserver's admission configuration.

    :param match_contains: parts of the names of the limited amounts, such as ``cpu``
    :param match_scopes: scopes; objects that are in one of them are limited
    """

    resource: GroupResource
    match_contains: tuple[str, ...] = ()
    match_scopes: tuple[ScopeRequirement, ...] = ()


def check_request(
    quotas: Sequence[Quota], request: Request, evaluator: Evaluator, limited: Sequence[LimitedResource] = ()
) -> list[Quota]:
    """
    Check a request against a namespace's quotas.

    :param evaluator: the evaluator of the request's resource
    :return: the quotas, each with the usage that it has if the request is accepted
    :raises QuotaRefused: if the request needs more than is left, if it does not specify a required amount, or if the
        usage of a quota is not known yet
    :raises UncoveredScopes: if it has a limited scope that no quota covers
    :raises ValueError: if its usage cannot be computed
    """
    unchanged = list(quotas)
    if not (request.has_moved or evaluator.handles(request)):
        return unchanged
    obj = request.object
    try:
        limited_scopes = [scope for one in limited for scope in evaluator.matching_scopes(obj, one.match_scopes)]
    except ScopeError:
        # An invalid configuration limits nothing, as in kube-apiserver.
        return unchanged
    limited_names = _limited_names(evaluator, request, limited)

    concerned, covered_names, covered_scopes = _concerned(quotas, request, evaluator)
    used = evaluator.usage(obj)
    if negative := is_negative(used):
        raise QuotaRefused(request, f"quota usage is negative for resource(s): {','.join(negative)}")
    deltas = _deltas(quotas, concerned, request, evaluator, used)
    if not any(deltas.values()):
        return unchanged

    if uncovered := sorted(limited_names - covered_names):
        raise QuotaRefused(request, f"insufficient quota to consume: {','.join(uncovered)}")
    if open_scopes := evaluator.uncovered_scopes(limited_scopes, covered_scopes):
        raise UncoveredScopes(f"insufficient quota to match these scopes: [{' '.join(map(str, open_scopes))}]")

    for index in concerned:
        if delta := deltas[index]:
            unchanged[index] = _charge(quotas[index], delta, request)
    return unchanged


def _limited_names(evaluator: Evaluator, request: Request, limited: Sequence[LimitedResource]) -> set[str]:
    """Return the names of limited amounts that the request uses."""
    about = [one for one in limited if one.resource == request.resource]
    if not about:
        return set()
    names = [name for name, amount in evaluator.usage(request.object).items() if amount.sign > 0]
    return {name for one in about for name in names if any(part in name for part in one.match_contains)}


def _concerned(
    quotas: Sequence[Quota], request: Request, evaluator: Evaluator
) -> tuple[list[int], set[str], list[ScopeRequirement]]:
    """Return the indexes of the quotas that apply to the object, and the names and scopes that they cover."""
    obj = request.object
    indexes: list[int] = []
    names: set[str] = set()
    scopes: list[ScopeRequirement] = []
    for index, quota in enumerate(quotas):
        if not quota.is_about(request.namespace, obj):
            continue
        try:
            scopes += evaluator.matching_scopes(obj, quota.scopes)
        except ScopeError as error:
            raise ScopeError(f"error matching scopes of quota {quota.name}, err: {error}") from error
        if not evaluator.matches(quota.hard, quota.scopes, obj):
            continue
        restricted = evaluator.matching_resources(quota.hard)
        try:
            evaluator.constraints(restricted, obj)
        except ConstraintError as error:
            raise QuotaRefused(request, f"failed quota: {quota.name}: {error}") from error
        if not quota.used.keys() >= set(restricted):
            text = ",".join(sorted(restricted))
            raise QuotaRefused(request, f"status unknown for quota: {quota.name}, resources: {text}")
        indexes.append(index)
        names.update(restricted)
    return indexes, names, scopes


#: Takes the place of a quota's index when no quota applies to the request.
_NO_QUOTA = -1


def _deltas(
    quotas: Sequence[Quota], concerned: Sequence[int], request: Request, evaluator: Evaluator, used: ResourceList
) -> Mapping[int, Amounts]:
    """Return, for each quota that applies, the amounts to add to its usage. Amounts of zero are left out."""
    deltas: dict[int, ResourceList] = dict.fromkeys(concerned, used)
    if not concerned and request.operation == CREATE:
        deltas[_NO_QUOTA] = used
    if request.operation == UPDATE:
        old = request.old_object
        if old is None:
            reason = "unable to get previous usage since prior version of object was not found"
            raise QuotaRefused(request, reason)
        if not concerned:
            deltas[_NO_QUOTA] = used
        # An old object without a resource version was never stored (the update creates the object), so it was not
        # charged.
        if accessor_of(old).resource_version(old):
            more = subtract_non_negative(used, evaluator.usage(old))
            for index in concerned:
                quota = quotas[index]
                if quota.is_about(request.namespace, old) and evaluator.matches(quota.hard, quota.scopes, old):
                    deltas[index] = more
            if not concerned:
                deltas[_NO_QUOTA] = more
    return {index: remove_zeros(delta) for index, delta in deltas.items()}


def _charge(quota: Quota, delta: Amounts, request: Request) -> Quota:
    requested = mask(delta, quota.hard)
    used = add(quota.used, requested)
    # A write of the status reports what has already happened. It is charged even if it exceeds the quota.
    if request.subresource != "status" and (exceeded := exceeding(mask(used, requested), quota.hard)):
        asked, before, limit = (_text(mask(one, exceeded)) for one in (requested, quota.used, quota.hard))
        reason = f"exceeded quota: {quota.name}, requested: {asked}, used: {before}, limited: {limit}"
        raise QuotaRefused(request, reason)
    return quota.with_used(used)


def _text(amounts: Amounts) -> str:
    return ",".join(f"{name}={amounts[name]}" for name in sorted(amounts))


def request_name(request: Request) -> str:
    """Return the name of the request's object; if the server is to generate it, the prefix of the name."""
    if request.name:
        return request.name
    obj = request.object
    if obj is None:
        return "Unknown"
    accessor = accessor_of(obj)
    generated: Any = accessor.field(obj, "generateName")
    return accessor.name(obj) or generated or "Unknown"


def changed(before: Iterable[Quota], after: Iterable[Quota]) -> list[Quota]:
    """Return the quotas of `after` whose usage differs from that in `before`."""
    return [new for old, new in zip(before, after, strict=True) if old.used != new.used]
