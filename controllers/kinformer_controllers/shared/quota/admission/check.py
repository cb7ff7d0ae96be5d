"""The check: whether a request stays within all quotas that are about it, and what it will have used of each.

It is the one that kube-apiserver makes, down to the order in which it finds fault and the words for it. Nothing here
does I/O: the quotas are given, and given back with the new usage.
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
from kinformer_controllers.shared.quota.limits import Quota
from kinformer_controllers.shared.quota.scopes import ScopeError, ScopeRequirement

__all__ = ("LimitedResource", "QuotaRefused", "UncoveredScopes", "changed", "check_request", "request_name")


class QuotaRefused(Exception):
    """
    A request that is not to be let through.

    Its text is that of kube-apiserver's answer.

    :ivar name: what the request is about, as the answer calls it
    :ivar reason: why not, without saying what
    """

    def __init__(self, request: Request, reason: str) -> None:
        self.resource = request.resource
        self.name = request_name(request)
        self.reason = reason
        super().__init__(f'{request.resource} "{self.name}" is forbidden: {reason}')


class UncoveredScopes(Exception):
    """A request is in scopes that are limited, and no quota covers them."""


@dataclass(frozen=True, slots=True)
class LimitedResource:
    """
    Something that may only be used under a quota, as kube-apiserver's admission configuration has it.

    :param match_contains: parts of the names of what is limited
    :param match_scopes: scopes whose objects are limited
    """

    resource: GroupResource
    match_contains: tuple[str, ...] = ()
    match_scopes: tuple[ScopeRequirement, ...] = ()


def check_request(
    quotas: Sequence[Quota], request: Request, evaluator: Evaluator, limited: Sequence[LimitedResource] = ()
) -> list[Quota]:
    """
    Check a request against a namespace's quotas.

    :param evaluator: that of the request's resource
    :return: the quotas, each with the usage that it has if the request goes through
    :raises QuotaRefused: if the request needs more than there is, does not say what it must, or if a quota's usage is
        not known yet
    :raises UncoveredScopes: if it is in a limited scope that no quota covers
    :raises ValueError: if its usage cannot be computed
    """
    unchanged = list(quotas)
    if not (request.has_moved or evaluator.handles(request)):
        return unchanged
    obj = request.object
    try:
        limited_scopes = [scope for one in limited for scope in evaluator.matching_scopes(obj, one.match_scopes)]
    except ScopeError:
        # A configuration that makes no sense limits nothing, as in kube-apiserver.
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
    """What the request uses that may only be used under a quota."""
    about = [one for one in limited if one.resource == request.resource]
    if not about:
        return set()
    names = [name for name, amount in evaluator.usage(request.object).items() if amount.sign > 0]
    return {name for one in about for name in names if any(part in name for part in one.match_contains)}


def _concerned(
    quotas: Sequence[Quota], request: Request, evaluator: Evaluator
) -> tuple[list[int], set[str], list[ScopeRequirement]]:
    """The indexes of the quotas that are about the object, and which names and scopes they cover."""
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


#: Stands for the request itself where no quota is about it.
_NO_QUOTA = -1


def _deltas(
    quotas: Sequence[Quota], concerned: Sequence[int], request: Request, evaluator: Evaluator, used: ResourceList
) -> Mapping[int, Amounts]:
    """How much more of everything each of the concerned quotas is to be charged; without zeros."""
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
        # An old object that was never stored (a create by update) has been charged for nothing.
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
    # What the status tells has happened already: it is charged, and can be more than is allowed.
    if request.subresource != "status" and (exceeded := exceeding(mask(used, requested), quota.hard)):
        asked, before, limit = (_text(mask(one, exceeded)) for one in (requested, quota.used, quota.hard))
        reason = f"exceeded quota: {quota.name}, requested: {asked}, used: {before}, limited: {limit}"
        raise QuotaRefused(request, reason)
    return quota.with_used(used)


def _text(amounts: Amounts) -> str:
    return ",".join(f"{name}={amounts[name]}" for name in sorted(amounts))


def request_name(request: Request) -> str:
    """What a request is about: its name, or what its object's name begins with."""
    if request.name:
        return request.name
    obj = request.object
    if obj is None:
        return "Unknown"
    accessor = accessor_of(obj)
    generated: Any = accessor.field(obj, "generateName")
    return accessor.name(obj) or generated or "Unknown"


def changed(before: Iterable[Quota], after: Iterable[Quota]) -> list[Quota]:
    """Those quotas of `after` whose usage is another than it was."""
    return [new for old, new in zip(before, after, strict=True) if old.used != new.used]
