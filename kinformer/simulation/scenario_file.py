"""Scenarios in YAML: the steps of a user, and the expected state, for people who do not want to write a test.

:func:`read_scenario` reads a file and returns a :class:`FileScenario`. It is played like any async function that takes
a world, and can be sent to other processes. Everything that can be checked without a server is checked when the file is
read. An error names the file and the step.

A file is a list of steps, or a mapping with ``steps`` and optionally ``always``, ``eventually`` and ``managers``. A
step is one of these:

==========  ============================================================================================================
apply       an object, several objects, or the path of a file with objects, relative to the folder of the scenario
patch       ``object`` by resource, namespace and name, and ``merge``: the fields that are merged into it
delete      an object by resource, namespace and name: ``pods/default/web-0``
settle      wait until nothing happens any more; with a number, until nothing has happened for so many seconds
sleep       let so many seconds pass
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
from kinformer.simulation.process import Main
from kinformer.simulation.state import State
from kinformer.simulation.user import manifests_of
from kinformer.simulation.world import World

__all__ = ("Expectation", "FileScenario", "ScenarioFileError", "read_scenario")


class ScenarioFileError(Exception):
    """A scenario cannot be read, or one of its steps cannot be done. The text names the file and the step."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """
    The expected state of one object, or the expected number of objects.

    If only `object` is given, the object has to exist.

    :param object: one object: ``deployments.apps/default/web``, ``nodes/n1``
    :param has: fields that the object has to have, besides others: ``{status: {readyReplicas: 3}}``
    :param gone: whether the object must not exist
    :param objects: in place of one object: all objects of a resource (``pods``), or those in a namespace
        (``pods/default``)
    :param labels: a label selector; only the objects that it matches are counted
    :param count: the exact number of objects
    :param most: the largest number of objects
    :param least: the smallest number of objects
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
        """
        Read an expectation from a mapping of the file.

        :raises ValueError: if it has unknown keys, or does not fit one object or a number of objects
        """
        found = cls(**_only(given, [entry.name for entry in fields(cls)], "an expectation"))
        if bool(found.object) == bool(found.objects):
            raise ValueError("an expectation is about one object, or about objects")
        counts = (found.count, found.most, found.least)
        if found.objects and (all(each is None for each in counts) or found.has is not None or found.gone):
            raise ValueError("of objects a number is expected: count, most or least")
        if found.object and (any(each is not None for each in counts) or found.labels):
            raise ValueError("of one object it is expected what it has, or that it is gone")
        for name, each in (("object", found.object), ("objects", found.objects), ("labels", found.labels)):
            if not isinstance(each, str):
                raise ValueError(f"{name} is a text, not {each!r}")  # noqa: TRY004  # it comes from a user's file
        if found.object and "/" not in found.object:
            raise ValueError(f"{found.object!r} is not an object: write resource, namespace and name, with slashes")
        if found.objects.count("/") > 1:
            raise ValueError(f"{found.objects!r} is not objects: write a resource, and a namespace after a slash")
        if not isinstance(found.gone, bool):
            raise ValueError(f"gone is true or false, not {found.gone!r}")  # noqa: TRY004  # as above
        if any(each is not None and not isinstance(each, int) for each in counts):
            raise ValueError("count, most and least are whole numbers")
        parse_selector(found.labels)
        return found

    def __call__(self, state: State) -> None:
        """
        Check the state.

        :raises AssertionError: if it is not as expected
        """
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
    # An assert statement would be left out by ``python -O``.
    if not condition:
        raise AssertionError(text)


def _missing(found: Any, want: Any, path: str) -> Iterator[str]:
    """The fields in which an object differs from what is wanted, as texts."""
    if isinstance(want, Mapping) and isinstance(found, Mapping):
        for key, value in want.items():
            yield from _missing(found.get(key), value, f"{path}.{key}" if path else str(key))
    elif found != want:
        yield f"{path} is {found!r}, want {want!r}"


@dataclass(frozen=True, slots=True)
class _Step:
    """
    A step of a scenario.

    :param number: its number in the file, from 1
    :param verb: one of the steps in this module's table
    :param given: the value of the step, checked
    """

    number: int
    verb: str
    given: Any


@dataclass(frozen=True, slots=True)
class FileScenario:
    """
    A scenario from a file. The controllers are not in the file, so that one file serves several of them.

    :param file: the path of the file, for errors
    :param controllers: the names of installed controllers, or ``package.module:factory``; empty if the world has its
        own processes
    :param steps: the steps
    :param managers: the names of the processes, each of which runs all controllers. Several processes elect a leader
    :param always: expectations that have to hold after every change
    :param eventually: expectations that have to hold at the end
    :param programs: programs that run as processes, by name, in place of managers or besides them
    """

    file: str
    controllers: tuple[str, ...]
    steps: tuple[_Step, ...]
    managers: tuple[str, ...] = ("manager",)
    always: tuple[Expectation, ...] = ()
    eventually: tuple[Expectation, ...] = ()
    programs: tuple[tuple[str, Main], ...] = ()

    async def __call__(self, world: World) -> None:
        """
        Do all steps.

        :raises ScenarioFileError: if a step cannot be done: the server refuses it, or does not know the resource
        :raises AssertionError: if the state is not as expected
        """
        for check in self.always:
            world.assert_always(check)
        for check in self.eventually:
            world.assert_eventually(check)
        for name in self.managers if self.controllers else ():
            world.manager(self.controllers, name, leader_election=len(self.managers) > 1)
        for name, main in self.programs:
            world.program(main, name)
        unknown = {(check.object or check.objects).partition("/")[0] for check in (*self.always, *self.eventually)}
        for step in self.steps:
            try:
                await _do(world, step)
                unknown = {each for each in unknown if not _is_served(world, each)}
            except AssertionError as error:
                raise type(error)(f"{self.file}: step {step.number}: {error}") from None
            except (ApiError, LookupError, ValueError) as error:
                text = " ".join(str(error).split())
                raise ScenarioFileError(f"{self.file}: step {step.number}: {step.verb}: {text}") from error
        if unknown:
            raise ScenarioFileError(f"{self.file}: the server does not serve {', '.join(sorted(unknown))}")


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
            resource, _, _ = (given.object or given.objects).partition("/")
            if not _is_served(world, resource):
                raise LookupError(f"the server does not serve {resource}")
            given(world.state)


def _is_served(world: World, resource: str) -> bool:
    return any(str(each.group_resource) == resource for each in world.server.registry)


def _object(world: World, text: str) -> tuple[Resource[dict[str, Any]], str, str]:
    """
    The client of a resource, the namespace and the name, from an object's name such as ``pods/default/web-0``.

    :raises LookupError: if the server does not serve the resource
    """
    resource, _, key = text.partition("/")
    namespace, _, name = key.rpartition("/")
    found = next((each for each in world.server.registry if str(each.group_resource) == resource), None)
    if found is None:
        raise LookupError(f"the server does not serve {resource}")
    gvr = (found.group, found.version, found.plural)
    return world.client.resource(dict, gvr, namespaced=found.namespaced, kind=found.kind), namespace, name


def read_scenario(file: Path, controllers: Sequence[str]) -> FileScenario:
    """
    Read a scenario from a file.

    :param file: the file
    :param controllers: the names of installed controllers, or ``package.module:factory``; empty if the world has its
        own processes
    :raises ScenarioFileError: if the text is not a scenario, or a file with objects cannot be read
    :raises OSError: if the file cannot be read
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
    except ValueError as error:  # a date that does not exist
        raise ScenarioFileError(f"{file}: is not YAML: {error}") from error
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
    """
    Check a step of a file.

    :raises ValueError: if it is not a step
    """
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
    """
    Check that a value is a mapping with no other keys than these.

    :raises ValueError: if it is not
    """
    if not isinstance(given, dict):
        raise ValueError(  # noqa: TRY004  # the value comes from a user's file
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
