"""Webhooks: functions that an API server asks before it stores an object, or when it needs it at another version.

Functions are registered by decorators, by the type of object that they are for. They are given typed objects, and say
what they think by what they return and raise::

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

Reviews as bytes go into :meth:`Webhooks.answer_admission` and :meth:`Webhooks.answer_conversion`, answers as bytes come
out; :class:`~kinformer.operator.webhooks.WebhookServer` does that over HTTPS. A function that raises anything but
:exc:`Denied` has failed: the API server is told so, and its failure policy decides.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypedDict, TypeVar, Unpack, cast

from kinformer.client.keywords import check_names
from kinformer.logs import get_logger
from kinformer.meta import GroupVersion
from kinformer.models import ObjectDecodeError, ResourceInfo, decode, encode, resource_for, to_dict
from kinformer.operator.webhooks.json_diff import create_json_patch
from kinformer.operator.webhooks.reviews import (
    ConversionRequest,
    RawRequest,
    UserInfo,
    allowed,
    converted,
    denied,
    not_converted,
)

__all__ = ("AdmissionRequest", "Denied", "Hook", "HookOptions", "Webhooks")

T = TypeVar("T")
S = TypeVar("S")

log = get_logger(__name__)

#: What a webhook is asked about if nothing else is said.
_WRITES: Final = ("CREATE", "UPDATE")
_OPERATIONS: Final = frozenset(("CREATE", "UPDATE", "DELETE", "CONNECT", "*"))


class Denied(Exception):
    """
    What a function raises to have a request refused.

    :param message: what the user reads
    :param code: HTTP's; 403 by default, 422 for an object that is not valid
    :param reason: the API's word for it: ``Forbidden``, ``Invalid``
    """

    def __init__(self, message: str, *, code: int = 403, reason: str = "Forbidden") -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason


@dataclass(eq=False, slots=True)
class AdmissionRequest(Generic[T]):
    """
    What is to be decided about.

    :ivar object: the object as it is to be stored, with the request's own copy to change; of a deletion, what is
        deleted
    :ivar old: the object as it is stored; None for what is created
    :ivar operation: ``CREATE``, ``UPDATE``, ``DELETE`` or ``CONNECT``
    :ivar dry_run: nothing will be stored: nothing outside the cluster may be changed
    :ivar raw: all that the API server said
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

    def warn(self, text: str) -> None:
        """Tell the user something that is no reason to refuse: kubectl prints it."""
        self.warnings.append(text)


Function = Callable[[AdmissionRequest[Any]], Any]


class HookOptions(TypedDict, total=False):
    """
    What a function is asked about, and how.

    `operations` are some of ``CREATE``, ``UPDATE``, ``DELETE``, ``CONNECT``, or ``*``; by default the first two.
    `subresources` are names such as ``status``, ``""`` for the object itself, or ``*``; by default the object alone.
    `failure_policy` is ``Fail`` or ``Ignore``: what happens to a request while the webhook cannot be asked; by default
    it fails. `side_effects` is ``None``, or ``NoneOnDryRun`` if the function changes something outside the cluster.
    `timeout` is the number of seconds that the API server waits: 10 by default, 30 at most. `match_conditions` are CEL
    expressions by name; the webhook is asked only if all of them hold. `path` is where it is asked; by default it is
    made of the type.
    """

    operations: Sequence[str]
    subresources: Sequence[str]
    failure_policy: str
    side_effects: str
    timeout: int
    match_conditions: Mapping[str, str] | None
    path: str


@dataclass(frozen=True, slots=True)
class Hook:
    """
    A function, and what it is asked about.

    :param path: where the API server asks it, by controller-runtime's rule: ``/validate-example-com-v1-webapp``
    """

    function: Function
    type: type[Any]
    resource: ResourceInfo
    mutates: bool
    operations: tuple[str, ...]
    subresources: tuple[str, ...]
    failure_policy: str
    side_effects: str
    timeout: int
    match_conditions: tuple[tuple[str, str], ...]
    path: str


class Webhooks:
    """
    The webhooks of one operator.

    :param name: what their configurations are called: ``webapp-operator``
    """

    def __init__(self, name: str) -> None:
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
        Register a function that says whether an object may be written: it raises :exc:`Denied` if not.

        :param type_: a model, a custom resource, or another type that says where its objects are served
        :param options: see :class:`HookOptions`
        :raises ValueError: if there is a webhook at that path already, or an operation is none
        :raises LookupError: if it is not known where objects of the type are served
        """
        return self._register(type_, False, options)

    def mutating(
        self,
        type_: type[T],
        **options: Unpack[HookOptions],
    ) -> Callable[[Callable[[AdmissionRequest[T]], S]], Callable[[AdmissionRequest[T]], S]]:
        """
        Register a function that returns the object as it is to be, or None to leave it as it is.

        It may change ``request.object`` and return that. Fields that its type does not know stay as they are. It may be
        asked again for what it has changed already, and then has to change nothing.

        The parameters are those of :meth:`validating`.
        """
        return self._register(type_, True, options)

    def converting(self, from_type: type[T], to_type: type[S]) -> Callable[[Callable[[T], S]], Callable[[T], S]]:
        """
        Register a function that makes an object of one version of its kind from one of another.

        Versions without a function of their own are reached over others: with functions to and from the newest version,
        each version can be had from each. The metadata is taken over; a function may change labels and annotations.

        :raises ValueError: if the two are not versions of one kind
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
        """Where the functions are asked."""
        return tuple(self.hooks)

    @property
    def converts(self) -> bool:
        """Whether there is something to convert."""
        return bool(self._conversions)

    def _register(
        self, type_: type[Any], mutates: bool, options: HookOptions
    ) -> Callable[[Callable[..., S]], Callable[..., S]]:
        check_names(options, HookOptions)
        resource = resource_for(type_)
        operations, timeout = options.get("operations", _WRITES), options.get("timeout", 10)
        failure_policy = options.get("failure_policy", "Fail")
        side_effects = options.get("side_effects", "None")
        if unknown := [operation for operation in operations if operation not in _OPERATIONS]:
            raise ValueError(f"{unknown[0]!r} is no operation: want some of {', '.join(sorted(_OPERATIONS))}")
        for value, known, what in (
            (failure_policy, ("Fail", "Ignore"), "failure policy"),
            (side_effects, ("None", "NoneOnDryRun"), "side effect"),
        ):
            if value not in known:
                raise ValueError(f"{value!r} is no {what}: want {' or '.join(known)}")
        if not 1 <= timeout <= 30:
            raise ValueError(f"the timeout is {timeout} s: want 1 to 30")
        at = options.get("path") or _path_of(resource, "mutate" if mutates else "validate")
        if at in self.hooks:
            raise ValueError(f"there is a webhook at {at} already: give one of them a path of its own")

        def register(function: Callable[..., S]) -> Callable[..., S]:
            self.hooks[at] = Hook(
                function,
                type_,
                resource,
                mutates,
                tuple(operations),
                tuple(options.get("subresources", ("",))),
                failure_policy,
                side_effects,
                timeout,
                tuple((options.get("match_conditions") or {}).items()),
                at,
            )
            return function

        return register

    # -- answering

    async def answer_admission(self, path: str, asked: RawRequest, seconds: float = 0.0) -> bytes:
        """
        Have the function at a path decide.

        :param seconds: how long the API server waits; functions are not told, but cancelled by the server
        :raises KeyError: if there is none
        :raises Exception: whatever the function raises, :exc:`Denied` aside
        """
        hook = self.hooks[path]
        try:
            request = _typed(hook.type, asked)
        except ObjectDecodeError as error:
            return denied(asked.uid, 422, "Invalid", str(error))
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
        """Convert objects; one that cannot be is the answer for all."""
        try:
            return converted(asked.uid, [self._converted(obj, asked.desired) for obj in asked.objects])
        except Exception as error:
            log.error("conversion_failed", desired=asked.desired, error=str(error) or type(error).__name__)
            return not_converted(asked.uid, str(error) or type(error).__name__)

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
        """The functions to go through, as few as may be."""
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


def _typed(type_: type[T], asked: RawRequest) -> AdmissionRequest[T]:
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
    )


def _decoded(type_: type[T], obj: dict[str, Any]) -> T:
    return cast("T", obj) if issubclass(type_, dict) else decode(type_, encode(obj))


def _metadata(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """What the API server takes: all as it was, but for labels and annotations."""
    kept = {name: value for name, value in before.items() if name not in ("labels", "annotations")}
    return kept | {name: after[name] for name in ("labels", "annotations") if after.get(name)}


def _path_of(resource: ResourceInfo, verb: str) -> str:
    group = resource.group.replace(".", "-")
    version = GroupVersion(resource.group, resource.version).version
    return f"/{verb}-{group}-{version}-{resource.kind.lower()}"
