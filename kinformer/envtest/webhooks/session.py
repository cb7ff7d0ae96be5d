"""A request and the answers of its webhooks. The request runs several times until it has all answers."""

from __future__ import annotations

import copy
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

from kinformer.envtest.admission import Attributes
from kinformer.envtest.status import StatusError

__all__ = ("WebhookSession", "WebhooksPending")


class _Webhooks(Protocol):
    def concern(self, attributes: Attributes, *, mutating: bool) -> bool: ...

    async def mutate(self, attributes: Attributes, warnings: list[str]) -> dict[str, Any] | None: ...

    async def validate(self, attributes: Attributes, warnings: list[str]) -> None: ...


class WebhooksPending(Exception):
    """
    A request needs answers of webhooks. Await :attr:`ask`, and run the request again.

    The request has written nothing yet.
    """

    def __init__(self, ask: Callable[[], Awaitable[None]]):
        super().__init__("webhooks are to be asked")
        self.ask = ask


@dataclass(slots=True)
class _Answer:
    """The objects that the webhooks were sent, and the result."""

    shown: Any
    shown_old: Any
    result: dict[str, Any] | None
    refusal: StatusError | None
    warnings: list[str]


class WebhookSession:
    """See :class:`~kinformer.envtest.admission.Review`."""

    def __init__(self, webhooks: _Webhooks):
        self._webhooks = webhooks
        self._answers: dict[tuple[str, ...], _Answer] = {}
        self._made: dict[str, Any] = {}

    @property
    def warnings(self) -> list[str]:
        """The webhooks' warnings for the client."""
        return [warning for answer in self._answers.values() for warning in answer.warnings]

    def once(self, what: str, make: Callable[[], Any]) -> Any:
        """Call `make` at the first run of the request, and return the same value at later runs."""
        if what not in self._made:
            self._made[what] = make()
        return self._made[what]

    def mutate(self, attributes: Attributes) -> None:
        """
        Let the webhooks change the object.

        :raises WebhooksPending: if they have not been called yet
        :raises StatusError: if one of them refuses the request, or fails
        """
        answer = self._answer(attributes, mutating=True)
        if answer is not None and attributes.object is not None:
            attributes.object.clear()
            attributes.object.update(copy.deepcopy(answer.result or {}))

    def validate(self, attributes: Attributes) -> None:
        """
        Let the webhooks check the object.

        :raises WebhooksPending: if they have not been called yet
        :raises StatusError: if one of them refuses the request, or fails
        """
        self._answer(attributes, mutating=False)

    def _answer(self, attributes: Attributes, *, mutating: bool) -> _Answer | None:
        # A request can have many objects, e.g. if it deletes a collection.
        group, plural = attributes.resource.group_resource
        what = (str(mutating), attributes.operation, group, plural, attributes.subresource)
        key = (*what, attributes.namespace, attributes.name)
        answer = self._answers.get(key)
        if answer is None or (attributes.object, attributes.old_object) != (answer.shown, answer.shown_old):
            if not self._webhooks.concern(attributes, mutating=mutating):
                return None
            raise WebhooksPending(lambda: self._ask(key, attributes, mutating))
        if answer.refusal is not None:
            raise answer.refusal
        return answer

    async def _ask(self, key: tuple[str, ...], attributes: Attributes, mutating: bool) -> None:
        asked = replace(attributes)
        warnings: list[str] = []
        result, refusal = attributes.object, None
        try:
            if mutating:
                result = await self._webhooks.mutate(asked, warnings)
            else:
                await self._webhooks.validate(asked, warnings)
        except StatusError as error:
            refusal = error
        self._answers[key] = _Answer(attributes.object, attributes.old_object, result, refusal, warnings)
