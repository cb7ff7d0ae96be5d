"""Call a server's webhooks for a write: the mutating ones one after the other, the validating ones concurrently."""

from __future__ import annotations

import copy
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any

import anyio

from kinformer.envtest import status
from kinformer.envtest.access import Authorizer
from kinformer.envtest.admission import Attributes
from kinformer.envtest.operations import Operations
from kinformer.envtest.policies.conditions import ConditionError, Subject
from kinformer.envtest.policies.matching import Matcher, NamespaceMissing
from kinformer.envtest.policies.policies import POLICY_RESOURCES
from kinformer.envtest.registry import Resource
from kinformer.envtest.registry.schema import Problems
from kinformer.envtest.webhooks.calling import Caller
from kinformer.envtest.webhooks.configuration import MUTATING, VALIDATING, Hook, HookList
from kinformer.envtest.webhooks.review import CallFailed, Verdict, denial, make_review, read_review
from kinformer.envtest.webhooks.session import WebhookSession
from kinformer.logs import get_logger
from kinformer.meta.patch import PatchError, apply_json_patch

__all__ = ("Webhooks",)

log = get_logger(__name__)

#: Webhooks are not called for these. Otherwise a webhook that refuses everything could not be removed.
_EXEMPT = POLICY_RESOURCES | {MUTATING, VALIDATING}

#: Converts an object from the first resource's version to the second one's.
Converter = Callable[[dict[str, Any], Resource, Resource], Awaitable[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class _Seen:
    """What a webhook is sent: the resource at the version that it wants, and the objects at that version."""

    resource: Resource
    object: dict[str, Any] | None
    old: dict[str, Any] | None


class Webhooks:
    """
    The webhooks of one server.

    :param convert: converts objects for the webhooks that want another version
    """

    def __init__(self, operations: Operations, caller: Caller, convert: Converter):
        self._operations = operations
        self._mutating = HookList(operations.storage, MUTATING)
        self._validating = HookList(operations.storage, VALIDATING)
        self._matcher = Matcher(operations.storage, operations.registry)
        self._authorizer = Authorizer(operations.storage)
        self._caller = caller
        self._convert = convert

    def session(self, *, always: bool = False) -> WebhookSession | None:
        """
        The session of one request. None if there are no webhooks.

        :param always: return a session even then, because the request may have to run again for another reason
        """
        return WebhookSession(self) if always or self._mutating.hooks or self._validating.hooks else None

    def concern(self, attributes: Attributes, *, mutating: bool) -> bool:
        """Whether any mutating (or validating) webhook must be called."""
        hooks = (self._mutating if mutating else self._validating).hooks
        return any(self._may_be_called(hook, attributes) for hook in hooks)

    def _may_be_called(self, hook: Hook, attributes: Attributes) -> bool:
        """Whether a webhook is called, or whether that depends on the object at another version."""
        resource = self._wanted(hook, attributes)
        if resource is None or _is_converted(attributes, resource):
            return resource is not None
        return self._holds(hook, attributes, _seen(attributes, resource, attributes.object, attributes.old_object))

    def _wanted(self, hook: Hook, attributes: Attributes) -> Resource | None:
        """
        The resource at the version that a webhook wants. None if its rules and selectors do not match.

        :raises StatusError: NotFound if the webhook selects by namespace labels and the namespace is gone
        """
        if attributes.resource.group_resource in _EXEMPT:
            return None
        try:
            return self._matcher.match(hook.criteria, attributes)
        except NamespaceMissing as error:
            raise error.status from None

    def _holds(self, hook: Hook, attributes: Attributes, seen: _Seen) -> bool:
        """
        Whether the match conditions of a webhook hold.

        :raises StatusError: Forbidden if they cannot be evaluated
        """
        if hook.conditions is None:
            return True
        try:
            return hook.conditions.hold(Subject(attributes, seen.resource, seen.object, seen.old, self._authorizer))
        except ConditionError as error:
            raise status.forbidden(attributes.resource.group_resource, attributes.asked_name, str(error)) from None

    async def _match(self, hook: Hook, attributes: Attributes) -> _Seen | None:
        """
        What a webhook is sent. None if it is not called.

        :raises StatusError: NotFound if the webhook selects by namespace labels and the namespace is gone. Forbidden if
            the match conditions cannot be evaluated. InternalError if the object cannot be converted
        """
        resource = self._wanted(hook, attributes)
        if resource is None:
            return None
        objects = [attributes.object, attributes.old_object]
        if _is_converted(attributes, resource):
            objects = [obj and await self._convert(obj, attributes.resource, resource) for obj in objects]
        seen = _seen(attributes, resource, *objects)
        return seen if self._holds(hook, attributes, seen) else None

    # -- mutating ---------------------------------------------------------------------------------------------------

    async def mutate(self, attributes: Attributes, warnings: list[str]) -> dict[str, Any] | None:
        """
        Call the mutating webhooks.

        :return: the object with their changes
        :raises StatusError: if one of them refuses the request, or fails
        """
        hooks = self._mutating.hooks
        asked: set[str] = set()
        again: set[str] = set()
        if await self._round(hooks, attributes, warnings, asked, again):
            await self._round([hook for hook in hooks if hook.identity in again], attributes, warnings, asked, again)
        return attributes.object

    async def _round(
        self,
        hooks: tuple[Hook, ...] | list[Hook],
        attributes: Attributes,
        warnings: list[str],
        asked: set[str],
        again: set[str],
    ) -> bool:
        """
        Call some mutating webhooks once.

        :param asked: collects the called webhooks with ``reinvocationPolicy: IfNeeded``
        :param again: collects those of them after which another webhook has changed the object
        :return: whether the object was changed
        """
        changed = False
        for hook in hooks:
            seen = await self._match(hook, attributes)
            if seen is None:
                continue
            seen = replace(seen, object=_as_created(attributes, seen.object))
            verdict = await self._ask(hook, attributes, seen, warnings, mutating=True)
            if verdict is not None and verdict.patch and await self._patch(hook, attributes, seen, verdict.patch):
                changed = True
                again |= asked
            if hook.reinvoked:
                asked.add(hook.identity)
        return changed

    async def _patch(self, hook: Hook, attributes: Attributes, seen: _Seen, patch: Any) -> bool:
        """Apply a webhook's patch to the object. Returns whether the object has changed."""
        shown = seen.object
        if shown is None or attributes.object is None:
            text = f'admission webhook "{hook.name}" attempted to modify the object'
            raise status.internal_error(f"{text}, which is not supported for this operation")
        try:
            patched = apply_json_patch(shown, patch)
        except PatchError as error:
            raise status.internal_error(str(error)) from None
        if not isinstance(patched, dict) or not isinstance(patched.get("metadata", {}), dict):
            raise status.internal_error(f'admission webhook "{hook.name}" made no object of the object')
        for name in ("kind", "apiVersion"):
            patched.pop(name, None)
        if _is_converted(attributes, seen.resource):
            patched = await self._convert(patched, seen.resource, attributes.resource)
        obj = self._normal(attributes, copy.deepcopy(patched))
        if attributes.is_name_generated:
            obj["metadata"]["name"] = attributes.name
        if obj == attributes.object:
            return False
        attributes.object = obj
        return True

    def _normal(self, attributes: Attributes, patched: dict[str, Any]) -> dict[str, Any]:
        """Check the fields of a patched object and set defaults."""
        if attributes.gvk is not None:
            return patched
        strategy = self._operations.strategy(attributes.resource)
        problems = Problems()
        obj = strategy.check(patched, problems)
        if problems.error is not None:
            raise status.internal_error(problems.error)
        obj.setdefault("metadata", {})
        strategy.default(obj)
        return obj

    # -- validating -------------------------------------------------------------------------------------------------

    async def validate(self, attributes: Attributes, warnings: list[str]) -> None:
        """
        Call the validating webhooks.

        :raises StatusError: the error of the first webhook, in their order, that refuses the request or fails
        """
        refusals: dict[int, status.StatusError] = {}
        told: dict[int, list[str]] = {}

        async def ask(index: int, hook: Hook, seen: _Seen) -> None:
            told[index] = []
            try:
                await self._ask(hook, attributes, seen, told[index], mutating=False)
            except status.StatusError as error:
                refusals[index] = error

        matching = [(hook, await self._match(hook, attributes)) for hook in self._validating.hooks]
        async with anyio.create_task_group() as group:
            for index, (hook, seen) in enumerate(matching):
                if seen is not None:
                    group.start_soon(ask, index, hook, seen)
        for index in sorted(told):
            warnings += told[index]
        if refusals:
            raise refusals[min(refusals)]

    # -- one of them ------------------------------------------------------------------------------------------------

    async def _ask(
        self,
        hook: Hook,
        attributes: Attributes,
        seen: _Seen,
        warnings: list[str],
        *,
        mutating: bool,
    ) -> Verdict | None:
        """
        Call one webhook.

        :return: its response. None if the call failed and the webhook's ``failurePolicy`` is ``Ignore``
        :raises StatusError: if the webhook refuses the request, or fails
        """
        if attributes.dry_run and not hook.dry_runs:
            raise status.bad_request(f'admission webhook "{hook.name}" does not support dry run')
        uid = self._operations.new_uid()
        try:
            body = make_review(hook, uid, attributes, seen.resource, seen.object, seen.old)
            verdict = read_review(hook, uid, await self._caller.post(hook.client, hook.timeout, body), mutating)
        except CallFailed as error:
            text = f'failed calling webhook "{hook.name}": {error}'
            log.warning("webhook_failed", webhook=hook.name, ignored=hook.ignores_failure, error=str(error))
            if hook.ignores_failure:
                return None
            raise status.internal_error(text) from None
        warnings += verdict.warnings
        if not verdict.allowed:
            raise denial(hook, verdict.status)
        return verdict


def _is_converted(attributes: Attributes, resource: Resource) -> bool:
    """Whether the objects are converted for a webhook that wants this version. The bodies of subresources are not."""
    return attributes.gvk is None and resource.version != attributes.resource.version


def _seen(attributes: Attributes, resource: Resource, obj: dict[str, Any] | None, old: dict[str, Any] | None) -> _Seen:
    return _Seen(resource, attributes.seen_as(resource, obj), attributes.seen_as(resource, old))


def _as_created(attributes: Attributes, obj: dict[str, Any] | None) -> dict[str, Any] | None:
    """The object as the user sent it. The real server generates a name after the mutation."""
    if obj is None or not attributes.is_name_generated:
        return obj
    return {**obj, "metadata": {key: value for key, value in obj["metadata"].items() if key != "name"}}
