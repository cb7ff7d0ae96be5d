"""Scenarios in YAML: what a user does, step by step, and what is expected, for whoever writes no test.

A file goes in, and comes out as a :class:`FileScenario`, which can be played like any async function that is given a
world, and can be handed to other processes. Everything that can be checked without a server is checked when the file is
read, and an error names the file and the step.

A file is a list of steps, or a mapping with ``steps`` and, if wanted, ``always``, ``eventually`` and ``managers``. A
step is one of these:

==========  ============================================================================================================
apply       an object, several, or the path of a file with objects, from the folder of the scenario
patch       ``object`` by resource, namespace and name, and ``merge``: what is merged into it
delete      an object by resource, namespace and name: ``pods/default/web-0``
settle      wait until nothing happens any more: for so many seconds, if a number is given
sleep       so many seconds
expect      see :class:`Expectation`
==========  ============================================================================================================
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import yaml

from kinformer.client import ApiError, PatchType, Resource
from kinformer.meta import parse_selector
from kinformer.simulation.state import State
from kinformer.simulation.user import manifests_of
from kinformer.simulation.world import World

__all__ = ("Expectation", "FileScenario", "ScenarioFileError", "read_scenario")


class ScenarioFileError(Exception):
    """A scenario cannot be read, or a step of it cannot be done. The text names the file and the step."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """
    What is expected of the storage. Without ``has``, ``gone`` and counts: that the object is there.

    :param object: one object: ``deployments.apps/default/web``, ``nodes/n1``
    :param has: what it has among other things: ``{status: {readyReplicas: 3}}``
    :param gone: that it is not there
    :param objects: or all objects of a resource, or of a namespace: ``pods``, ``pods/default``
    :param labels: of these, those that the selector matches
    :param count: so many
    :param most: so many, or fewer
    :param least: so many, or more
    """

    object: str = ""
    has: Mapping[str, Any] | None = None
    gone: bool = False
    objects: str = ""
    labels: str = ""
    count: int | None = None
    most: int | None = None
    least: int | None = None

    @property
    def __name__(self) -> str:
        return f"what is expected of {self.object or self.objects}"

    @classmethod
    def of(cls, given: Any) -> Expectation:
        """:raises ValueError: if it does not say what is expected of what"""
        found = cls(**_only(given, [entry.name for entry in fields(cls)], "an expectation"))
        if bool(found.object) == bool(found.objects):
            raise ValueError("an expectation is about one object, or about objects")
        counts = (found.count, found.most, found.least)
        if found.objects and (all(each is None for each in counts) or found.has is not None or found.gone):
            raise ValueError("of objects a number is expected: count, most or least")
        if found.object and (any(each is not None for each in counts) or found.labels):
            raise ValueError("of one object it is expected what it has, or that it is gone")
        if found.object and "/" not in found.object:
            raise ValueError(f"{found.object!r} is not an object: write resource, namespace and name, with slashes")
        if any(each is not None and not isinstance(each, int) for each in counts):
            raise ValueError("count, most and least are whole numbers")
        parse_selector(found.labels)
        return found

    def __call__(self, state: State) -> None:
        """:raises AssertionError: if it is not so"""
        if self.objects:
            self._count(state)
            return
        found = state.get(self.object)
        if self.gone:
            _demand(found is None, f"{self.object} is still there")
            return
        _demand(found is not None, f"{self.object} is not there")
        differences = list(_missing(found, self.has or {}, ""))
        _demand(not differences, f"{self.object}: {'; '.join(differences)}")

    def _count(self, state: State) -> None:
        resource, _, namespace = self.objects.partition("/")
        matches = parse_selector(self.labels).matches
        found = [obj for obj in state.list(resource, namespace) if matches(obj["metadata"].get("labels") or {})]
        count, what = len(found), f"{self.objects} {self.labels}".rstrip()
        _demand(self.count is None or count == self.count, f"there are {count} of {what}, want {self.count}")
        _demand(self.most is None or count <= self.most, f"there are {count} of {what}, want {self.most} at most")
        _demand(self.least is None or count >= self.least, f"there are {count} of {what}, want {self.least} at least")


def _demand(condition: bool, text: str) -> None:
    # No assert: it would not be there under ``python -O``.
    if not condition:
        raise AssertionError(text)


def _missing(found: Any, want: Any, path: str) -> Iterator[str]:
    """In which fields an object does not have what it should."""
    if isinstance(want, Mapping) and isinstance(found, Mapping):
        for key, value in want.items():
            yield from _missing(found.get(key), value, f"{path}.{key}" if path else str(key))
    elif found != want:
        yield f"{path} is {found!r}, want {want!r}"


@dataclass(frozen=True, slots=True)
class _Step:
    """
    :param number: from one, for a person
    :param verb: one of those in this module's table
    """

    number: int
    verb: str
    given: Any


@dataclass(frozen=True, slots=True)
class FileScenario:
    """
    A scenario from a file, for controllers that are named beside it.

    :param controllers: names of installed ones, or ``package.module:factory``
    :param managers: names of processes that run all of them; several elect a leader among themselves
    """

    file: str
    controllers: tuple[str, ...]
    steps: tuple[_Step, ...]
    managers: tuple[str, ...] = ("manager",)
    always: tuple[Expectation, ...] = ()
    eventually: tuple[Expectation, ...] = ()

    async def __call__(self, world: World) -> None:
        """
        Do all steps.

        :raises ScenarioFileError: if the server refuses one
        :raises AssertionError: if something is not as expected
        """
        for check in self.always:
            world.assert_always(check)
        for check in self.eventually:
            world.assert_eventually(check)
        for name in self.managers:
            world.manager(self.controllers, name, leader_election=len(self.managers) > 1)
        for step in self.steps:
            try:
                await _do(world, step)
            except AssertionError as error:
                raise type(error)(f"{self.file}: step {step.number}: {error}") from None
            except (ApiError, LookupError, ValueError) as error:
                text = " ".join(str(error).split())
                raise ScenarioFileError(f"{self.file}: step {step.number}: {step.verb}: {text}") from error


async def _do(world: World, step: _Step) -> None:
    given = step.given
    match step.verb:
        case "apply":
            await world.apply(*given)
        case "patch":
            resource, namespace, name = _object(world, given["object"])
            await resource.patch(name, given["merge"], namespace, patch_type=PatchType.MERGE)
        case "delete":
            resource, namespace, name = _object(world, given)
            await resource.delete(name, namespace)
        case "settle":
            await world.settled(given)
        case "sleep":
            await world.sleep(given)
        case "expect":
            given(world.state)


def _object(world: World, text: str) -> tuple[Resource[dict[str, Any]], str, str]:
    """:raises LookupError: if the server does not serve the resource"""
    resource, _, key = text.partition("/")
    namespace, _, name = key.rpartition("/")
    found = next((each for each in world.server.registry if str(each.group_resource) == resource), None)
    if found is None:
        raise LookupError(f"the server does not serve {resource}")
    gvr = (found.group, found.version, found.plural)
    return world.client.resource(dict, gvr, namespaced=found.namespaced, kind=found.kind), namespace, name


def read_scenario(file: Path, controllers: Sequence[str]) -> FileScenario:
    """
    :param controllers: names of installed ones, or ``package.module:factory``
    :raises ScenarioFileError: if it cannot be read
    :raises OSError: if there is no such file
    """
    try:
        read = yaml.safe_load(file.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f":{mark.line + 1}" if mark is not None else ""
        problem = getattr(error, "problem", None) or str(error)
        raise ScenarioFileError(f"{file}{where}: is not YAML: {' '.join(problem.split())}") from error
    except UnicodeDecodeError as error:
        raise ScenarioFileError(f"{file}: is not text: {error.reason} at byte {error.start}") from error
    try:
        whole = {"steps": read} if isinstance(read, list) else read
        whole = _only(whole, ("steps", "always", "eventually", "managers"), "a scenario")
        managers = _list(whole.get("managers") or ["manager"], "managers")
        if not all(isinstance(name, str) and name for name in managers) or len(set(managers)) < len(managers):
            raise ValueError("managers is a list of different names")
        always, eventually = (
            tuple(Expectation.of(each) for each in _list(whole.get(name) or [], name))
            for name in ("always", "eventually")
        )
        given = _list(whole.get("steps"), "steps")
    except ValueError as error:
        raise ScenarioFileError(f"{file}: {error}") from error
    steps = []
    for number, step in enumerate(given, 1):
        try:
            steps.append(_read_step(number, step, file.parent))
        except (ValueError, OSError, yaml.YAMLError) as error:
            raise ScenarioFileError(f"{file}: step {number}: {' '.join(str(error).split())}") from error
    return FileScenario(str(file), tuple(controllers), tuple(steps), tuple(managers), always, eventually)


_VERBS = ("apply", "patch", "delete", "settle", "sleep", "expect")


def _read_step(number: int, step: Any, folder: Path) -> _Step:
    """:raises ValueError: if it is not one"""
    if isinstance(step, str):
        step = {step: None}
    if not isinstance(step, dict) or len(step) != 1:
        raise ValueError(f"is one of {', '.join(_VERBS)}, with what it is about")
    ((verb, given),) = step.items()
    match verb:
        case "apply":
            each = given if isinstance(given, list) else [given]
            given = list(
                manifests_of(folder / one if isinstance(one, str) and "\n" not in one else one for one in each)
            )
            if not given:
                raise ValueError("apply: there is no object")
        case "patch":
            given = _only(given, ("object", "merge"), "a patch")
            if not isinstance(given.get("merge"), dict) or "/" not in str(given.get("object", "")):
                raise ValueError("a patch has an object, like pods/default/web-0, and what to merge into it")
        case "delete":
            if not isinstance(given, str) or "/" not in given:
                raise ValueError(f"delete names an object, like pods/default/web-0, not {given!r}")
        case "sleep" | "settle":
            if not (given is None and verb == "settle") and (not isinstance(given, int | float) or not given > 0):
                raise ValueError(f"{verb} has a number of seconds above zero, not {given!r}")
        case "expect":
            given = Expectation.of(given)
        case _:
            raise ValueError(f"there is no step {verb!r}: there are {', '.join(_VERBS)}")
    return _Step(number, verb, given)


def _only(given: Any, names: Sequence[str], what: str) -> dict[str, Any]:
    """:raises ValueError: if it is not a mapping, or has something else"""
    if not isinstance(given, dict):
        raise ValueError(  # noqa: TRY004  # the value stands in somebody's file
            f"{what} has {', '.join(names)}; this is {given!r}"
        )
    unknown = [name for name in given if name not in names]
    if unknown:
        raise ValueError(f"{what} has no {unknown[0]!r}: it has {', '.join(names)}")
    return given


def _list(given: Any, what: str) -> list[Any]:
    if not isinstance(given, list):
        raise ValueError(  # noqa: TRY004  # as above
            f"{what} is a list, not {given!r}"
        )
    return given
