from __future__ import annotations

import functools
from typing import Any

import pytest

from kinformer.cache import (
    DeletedFinalStateUnknown,
    FilteringResourceEventHandler,
    ResourceEventHandlerDetailedFuncs,
    ResourceEventHandlerFuncs,
)
from kinformer.cache.handlers import name_for_handler
from tests.cache.informers import Told
from tests.cache.scripted import obj

A, B = obj("a", 1), obj("a", 2)
HERE = __name__


def on_add(o: Any) -> None: ...


def on_update(old: Any, new: Any) -> None: ...


class Controller:
    def enqueue(self, o: Any) -> None: ...


def test_functions_are_called_with_what_happened() -> None:
    called: list[Any] = []
    handler = ResourceEventHandlerFuncs[Any](
        lambda o: called.append(("add", o)),
        lambda old, new: called.append(("update", old, new)),
        lambda o: called.append(("delete", o)),
    )
    handler.on_add(A, True)
    handler.on_update(A, B)
    handler.on_delete(B)

    assert called == [("add", A), ("update", A, B), ("delete", B)]


def test_detailed_functions_are_also_told_whether_it_was_there_from_the_start() -> None:
    called: list[Any] = []
    handler = ResourceEventHandlerDetailedFuncs[Any](lambda o, initial: called.append((o, initial)))
    handler.on_add(A, True)
    handler.on_add(A, False)

    assert called == [(A, True), (A, False)]


@pytest.mark.parametrize("kind", [ResourceEventHandlerFuncs, ResourceEventHandlerDetailedFuncs])
def test_functions_may_be_left_out(kind: Any) -> None:
    handler = kind()
    handler.on_add(A, True)
    handler.on_update(A, B)
    handler.on_delete(B)


def test_a_coroutine_function_gives_what_is_to_be_awaited() -> None:
    async def add(o: Any) -> None: ...

    result: Any = ResourceEventHandlerFuncs(add).on_add(A, False)
    assert hasattr(result, "__await__")
    result.close()


class TestFilter:
    def handler(self) -> tuple[Told, FilteringResourceEventHandler[Any]]:
        told = Told()
        return told, FilteringResourceEventHandler(lambda o: bool(self.state(o).get("matches")), told)

    @staticmethod
    def state(o: Any) -> Any:
        return o.obj if isinstance(o, DeletedFinalStateUnknown) else o

    @pytest.mark.parametrize(
        ("before", "after", "told"),
        [
            (True, True, ["update a@1 a@2"]),
            (False, True, ["add a@2"]),
            (True, False, ["delete a@1"]),
            (False, False, []),
        ],
    )
    def test_a_filtering_handler_sees_an_update_as_add_update_or_delete(
        self, before: bool, after: bool, told: list[str]
    ) -> None:
        inner, handler = self.handler()
        handler.on_update(obj("a", 1, matches=before), obj("a", 2, matches=after))

        assert inner.taken() == told

    @pytest.mark.parametrize("matches", [True, False])
    def test_adds_and_deletes_of_what_does_not_match_are_not_told(self, matches: bool) -> None:
        inner, handler = self.handler()
        handler.on_add(obj("a", 1, matches=matches), True)
        handler.on_delete(obj("a", 1, matches=matches))

        assert inner.taken() == (["initial add a@1", "delete a@1"] if matches else [])

    def test_the_filter_is_asked_about_tombstones_too(self) -> None:
        inner, handler = self.handler()
        handler.on_delete(DeletedFinalStateUnknown("ns/a", obj("a", 1, matches=True)))
        handler.on_delete(DeletedFinalStateUnknown("ns/a", obj("a", 1)))

        assert inner.taken() == ["delete ?a@1"]


class TestName:
    """What logs and metrics call a handler."""

    def test_it_is_the_name_of_its_functions(self) -> None:
        assert name_for_handler(ResourceEventHandlerFuncs(on_add)) == f"{HERE}.on_add"
        assert name_for_handler(ResourceEventHandlerFuncs(update=on_update)) == f"{HERE}.on_update"
        assert name_for_handler(ResourceEventHandlerDetailedFuncs(delete=on_add)) == f"{HERE}.on_add"

    def test_functions_of_different_names_are_joined(self) -> None:
        assert name_for_handler(ResourceEventHandlerFuncs(on_add, on_update)) == f"{HERE}.on_add+{HERE}.on_update"

    def test_functions_within_one_function_have_its_name(self) -> None:
        handler = ResourceEventHandlerFuncs[Any](lambda o: None, lambda old, new: None, lambda o: None)

        assert name_for_handler(handler) == f"{HERE}.TestName.test_functions_within_one_function_have_its_name"

    def test_a_method_has_its_class_in_its_name(self) -> None:
        assert name_for_handler(ResourceEventHandlerFuncs(Controller().enqueue)) == f"{HERE}.Controller.enqueue"

    def test_a_partial_is_the_function_that_it_is_of(self) -> None:
        partial = functools.partial(functools.partial(on_update), B)

        assert name_for_handler(ResourceEventHandlerFuncs(partial)) == f"{HERE}.on_update"

    def test_something_else_that_can_be_called_has_its_types_name(self) -> None:
        class Callable:
            def __call__(self, o: Any) -> None: ...

        assert name_for_handler(ResourceEventHandlerFuncs(Callable())).startswith(f"{HERE}.TestName.")

    def test_a_class_of_handlers_has_its_own(self) -> None:
        assert name_for_handler(Told()) == "tests.cache.informers.Told"

    def test_a_filter_has_that_of_what_it_filters_for(self) -> None:
        assert repr(FilteringResourceEventHandler(bool, ResourceEventHandlerFuncs(on_add))) == f"{HERE}.on_add"

    def test_it_is_how_a_handler_is_shown(self) -> None:
        assert repr(ResourceEventHandlerFuncs(on_add)) == f"{HERE}.on_add"
        assert repr(ResourceEventHandlerDetailedFuncs(delete=on_add)) == f"{HERE}.on_add"

    def test_one_without_functions_is_called_by_its_class(self) -> None:
        assert name_for_handler(ResourceEventHandlerFuncs()).endswith("handlers.ResourceEventHandlerFuncs")
