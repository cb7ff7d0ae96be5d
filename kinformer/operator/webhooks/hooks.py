"""Webhooks: functions that an API server calls before it stores an object, or when it needs another version of it.

Functions are registered by decorators, for a type of objects. They get objects of this type, and decide by what they
return or raise::

    webhooks = Webhooks("webapp-operator")

    @webhooks.validating(WebApp)
    async def check(request: AdmissionRequest[WebApp]) -> None:
        if request.object.spec.replicas > 10:
            raise Denied("spec.replicas: at most 10")

    @webhooks.mutating(WebApp)
    def fill_in(request: AdmissionRequest[WebApp]) -> WebApp:
        request.object.metadata.labels = {**(request.object.metadata.labels or {}), "checked": "yes"}
        return request.object

    @webhooks.converting(OldWebApp, WebApp)
    def to_new(old: OldWebApp) -> WebApp: ...

:meth:`Webhooks.answer_admission` and :meth:`Webhooks.answer_conversion` answer reviews.
:class:`~kinformer.operator.webhooks.WebhookServer` calls them for requests over HTTPS. A function refuses a request by
raising :exc:`Denied`. If it raises anything else, it has failed: the API server gets an error, and the failure policy
of the webhook decides.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, Unpack, cast

from kinformer.arguments import want
from kinformer.client.status import reason_of
from kinformer.logs import error_text, get_logger
from kinformer.manager import ControllerContext
from kinformer.meta.patch import create_json_patch
from kinformer.meta.validation import dns1123_subdomain_errors
from kinformer.models import ObjectDecodeError, decode, encode, resource_for, to_dict
from kinformer.operator.webhooks.registered import Hook, HookOptions, hook_settings
from kinformer.operator.webhooks.reviews import (
    BadReview,
    ConversionRequest,
    RawRequest,
    UserInfo,
    allowed,
    converted,
    denied,
    not_converted,
)

__all__ = ("AdmissionRequest", "Denied", "Webhooks")

T = TypeVar("T")
S = TypeVar("S")

log = get_logger(__name__)


class Denied(Exception):
    """
    Raised by a function to refuse a request.

    :param message: the message for the user
    :param code: the HTTP status: 403, or 422 for an object that is not valid
    :param reason: the reason in the API's words, such as ``Invalid``; if empty, that of the code. Clients raise the
        error of the reason, whatever the code is
    """

    def __init__(self, message: str, *, code: int = 403, reason: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason or reason_of(code)


@dataclass(eq=False, slots=True)
class AdmissionRequest(Generic[T]):
    """
    The request that a function decides about.

    :ivar object: the object that is going to be stored; for a deletion, the object that is going to be deleted. The
        function may change it
    :ivar old: the stored object; None if the object is being created
    :ivar operation: ``CREATE``, ``UPDATE``, ``DELETE`` or ``CONNECT``
    :ivar name: the name of the object
    :ivar namespace: its namespace
    :ivar user: the user who makes the request
    :ivar dry_run: if True, nothing will be stored, and the function must not change anything outside the cluster
    :ivar raw: the whole request of the API server
    :ivar warnings: the warnings for the user
    """

    object: T
    old: T | None
    operation: str
    name: str
    namespace: str
    user: UserInfo
    dry_run: bool
    raw: RawRequest
    warnings: list[str] = field(default_factory=list)
    _context: ControllerContext | None = None

    @property
    def context(self) -> ControllerContext:
        """
        The context of the manager that serves the webhook: its client, informers, options and clock.

        Read only the caches of informers that a controller of the manager follows. Replicas that do not lead serve
        webhooks too. There, the client of the context does not write.

        :raises RuntimeError: if no manager serves the webhook
        """
        if self._context is None:
            raise RuntimeError("this webhook has no context: let a manager serve it, with webhooks=WebhookServing(…)")
        return self._context

    def warn(self, text: str) -> None:
        """Add a warning for the user. kubectl prints it. The request is not refused."""
        self.warnings.append(text)


class Webhooks:
    """
    The webhooks of one operator.

    :param name: the name of their configurations: ``webapp-operator``
    :raises TypeError: if it is no name of an object
    """

    def __init__(self, name: str) -> None:
        want(
            name, not dns1123_subdomain_errors(name), "the name of webhooks", "small letters, such as 'webapp-operator'"
        )
        self.name = name
        self.hooks: dict[str, Hook] = {}
        self._conversions: dict[tuple[str, str], dict[tuple[str, str], Callable[[Any], Any]]] = {}
        self._types: dict[tuple[str, str], type[Any]] = {}

    # -- registering

    def validating(
        self,
        type_: type[T],
        **options: Unpack[HookOptions],
    ) -> Callable[[Callable[[AdmissionRequest[T]], S]], Callable[[AdmissionRequest[T]], S]]:
        """
        Register a function that decides whether an object may be written. It raises :exc:`Denied` if not.

        :param type_: a model or a custom resource
        :param options: see :class:`HookOptions`
        :raises ValueError: if an option is not valid, or another webhook has the same path
        :raises LookupError: if the type is not a known model or custom resource
        """
        return self._register(type_, False, options)

    def mutating(
        self,
        type_: type[T],
        **options: Unpack[HookOptions],
    ) -> Callable[[Callable[[AdmissionRequest[T]], S]], Callable[[AdmissionRequest[T]], S]]:
        """
        Register a function that returns the changed object, or None if it does not change the object.

        The function may change ``request.object`` and return it. Fields that the type does not have stay as they are.
        The API server may call the function again with the changed object; then it must not change anything more.

        The parameters and exceptions are those of :meth:`validating`.
        """
        return self._register(type_, True, options)

    def converting(self, from_type: type[T], to_type: type[S]) -> Callable[[Callable[[T], S]], Callable[[T], S]]:
        """
        Register a function that converts an object from one version of its kind to another.

        If two versions have no function between them, other versions are used as steps. So functions to and from one
        version are enough to convert between all versions. The metadata is kept, but a function may change labels and
        annotations.

        :raises ValueError: if the types are not two versions of one kind
        """
        source, target = resource_for(from_type), resource_for(to_type)
        if (source.group, source.kind) != (target.group, target.kind) or source.version == target.version:
            raise ValueError(
                f"{from_type.__qualname__} is {source.gvk}, {to_type.__qualname__} is {target.gvk}: "
                "want two versions of one kind"
            )

        def register(function: Callable[[T], S]) -> Callable[[T], S]:
            from_, to = (source.api_version, source.kind), (target.api_version, target.kind)
            self._types |= {from_: from_type, to: to_type}
            self._conversions.setdefault(from_, {})[to] = function
            return function

        return register

    @property
    def paths(self) -> tuple[str, ...]:
        """The URL paths of the functions."""
        return tuple(self.hooks)

    @property
    def converts(self) -> bool:
        """Whether there are conversions."""
        return bool(self._conversions)

    @property
    def converted(self) -> tuple[type[Any], ...]:
        """A type of each kind whose versions it converts."""
        kinds = {(resource_for(type_).group, kind): type_ for (_, kind), type_ in self._types.items()}
        return tuple(kinds.values())

    def _register(
        self, type_: type[Any], mutates: bool, options: HookOptions
    ) -> Callable[[Callable[..., S]], Callable[..., S]]:
        settings = hook_settings(type_, mutates, options)
        path = settings["path"]
        if path in self.hooks:
            raise ValueError(f"there is a webhook at {path} already: give one of them a path of its own")

        def register(function: Callable[..., S]) -> Callable[..., S]:
            self.hooks[path] = Hook(function=function, **settings)
            return function

        return register

    # -- answering

    async def answer_admission(
        self, path: str, asked: RawRequest, seconds: float = 0.0, context: ControllerContext | None = None
    ) -> bytes:
        """
        Answer an admission review with the function at a path.

        :param path: the path of the function
        :param asked: the request
        :param seconds: how long the API server waits. It is not used here: the webhook server cancels the call then
        :param context: for :attr:`AdmissionRequest.context`
        :return: the body of the answer
        :raises KeyError: if there is no function at the path
        :raises BadReview: if an object does not fit the type of the function. This is an error and no denial, so the
            webhook's ``failurePolicy`` decides
        :raises Exception: any exception that the function raises, except :exc:`Denied`
        """
        hook = self.hooks[path]
        try:
            request = _typed(hook.type, asked, context)
        except ObjectDecodeError as error:
            raise BadReview(str(error)) from None
        before = to_dict(request.object) if hook.mutates else {}
        try:
            result = hook.function(request)
            if inspect.isawaitable(result):
                result = await result
        except Denied as error:
            return denied(asked.uid, error.code, error.reason, str(error), request.warnings)
        if not hook.mutates or result is None:
            return allowed(asked.uid, (), request.warnings)
        return allowed(asked.uid, create_json_patch(before, to_dict(result)), request.warnings)

    def answer_conversion(self, asked: ConversionRequest) -> bytes:
        """Answer a conversion review. If one object cannot be converted, none is."""
        try:
            return converted(asked.uid, [self._converted(obj, asked.desired) for obj in asked.objects])
        except Exception as error:
            log.exception("conversion_failed", desired=asked.desired, error=error_text(error))
            return not_converted(asked.uid, error_text(error))

    def _converted(self, obj: dict[str, Any], desired: str) -> dict[str, Any]:
        here = (str(obj.get("apiVersion")), str(obj.get("kind")))
        there = (desired, here[1])
        if here == there:
            return obj
        value: Any = decode(self._type_at(here), encode(obj))
        for function in self._way(here, there):
            value = function(value)
        made = to_dict(value)
        made["apiVersion"], made["kind"] = there
        made["metadata"] = _metadata(obj.get("metadata") or {}, made.get("metadata") or {})
        return made

    def _type_at(self, version: tuple[str, str]) -> type[Any]:
        try:
            return self._types[version]
        except KeyError:
            raise LookupError(f"there is no conversion of {version[1]} of {version[0]}") from None

    def _way(self, here: tuple[str, str], there: tuple[str, str]) -> list[Callable[[Any], Any]]:
        """The shortest sequence of functions between two versions."""
        ways: dict[tuple[str, str], list[Callable[[Any], Any]]] = {here: []}
        line = [here]
        for version in line:
            if version == there:
                return ways[version]
            for further, function in self._conversions.get(version, {}).items():
                if further not in ways:
                    ways[further] = [*ways[version], function]
                    line.append(further)
        raise LookupError(f"there is no conversion of {here[1]} from {here[0]} to {there[0]}")


def _typed(type_: type[T], asked: RawRequest, context: ControllerContext | None) -> AdmissionRequest[T]:
    new, old = asked.object, asked.old_object
    current = _decoded(type_, old) if old is not None else None
    obj = _decoded(type_, new) if new is not None else copy.deepcopy(current)
    return AdmissionRequest(
        object=cast("T", obj),
        old=current,
        operation=asked.operation,
        name=asked.name,
        namespace=asked.namespace,
        user=asked.user_info,
        dry_run=bool(asked.dry_run),
        raw=asked,
        _context=context,
    )


def _decoded(type_: type[T], obj: dict[str, Any]) -> T:
    return cast("T", obj) if issubclass(type_, dict) else decode(type_, encode(obj))


def _metadata(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """The old metadata with the new labels and annotations. The API server accepts no other change in a conversion."""
    kept = {name: value for name, value in before.items() if name not in ("labels", "annotations")}
    return kept | {name: after[name] for name in ("labels", "annotations") if after.get(name)}
