"""The survey: every valid change of every field is played, and the runs are judged.

:func:`try_fields` plays three kinds of runs, in virtual time and without faults: the object as it is, each changed
object as a new one, and the object changed and changed back. These must hold:

``settles``
    The run comes to rest, no sync fails in the end, and the other oracles of a run without faults find nothing.
``fresh``
    After a change, the objects are the same as if the changed object had been created.
``back``
    After a change and its reverse, the objects are the same as before. A reverse that the server refuses is not played.
``effect``
    A field that can be changed has an effect: with at least one other value, a process does something else, or the
    objects differ at the end. If a value alone has no effect, it is played with three further steps: the deletion of
    the object, and the two changes that had the largest effect. A field without effect can be marked in its description
    (``Deprecated:`` or ``Without effect:`` begins a paragraph), or named in :attr:`Subject.without_effect`.

The first two are Acto's differential oracles. A run of the same seed is the same byte for byte. So a field that nobody
reads does not change the history, and the fourth oracle needs no list of what counts as an effect.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import Any, Final, TypeAlias

import anyio

from kinformer.client import Invalid, PatchType
from kinformer.envtest.openapi import openapi_document
from kinformer.meta.patch import create_merge_patch
from kinformer.simulation.history import History
from kinformer.simulation.oracles import Checks
from kinformer.simulation.oracles.normal import Normal, differences, steps_of
from kinformer.simulation.plan import Plan
from kinformer.simulation.schema.changes import Change, Path, is_below
from kinformer.simulation.schema.offers import Accepted, Offers
from kinformer.simulation.schema.values import Field, Schemas, fields_of
from kinformer.simulation.timeline import text_timeline
from kinformer.simulation.trial import ScenarioError
from kinformer.simulation.user import manifests_of
from kinformer.simulation.world import NotSettled, RunResult, World, WorldOptions, run_world

__all__ = ("PATIENCE", "FieldReport", "Finding", "Subject", "try_change", "try_fields")

#: How many differences a finding names.
_NAMED: Final = 3
#: How many changes are combined with one that has no effect alone, besides the deletion.
_COMBINED: Final = 2

#: The most seconds until a world has settled. A controller without rest would be played for all of them in each run.
PATIENCE: Final = 300.0

_Manifest: TypeAlias = Mapping[str, Any]
Begin: TypeAlias = Callable[[World], Callable[[], Any] | object]


@dataclass(frozen=True)
class Subject:
    """
    What is tried.

    :param begin: starts the controllers in a world, after all manifests but the last one were applied. It may return a
        function; what this returns at the end of a run, such as the records of a fake DNS, is compared like the objects
    :param manifests: what :meth:`World.apply <kinformer.simulation.user.User.apply>` takes; the fields of the last
        object are changed
    :param fields: the paths of the fields that are changed, with all within them; all fields if empty. A step may be
        ``*``
    :param without_effect: the paths of fields that may be without effect
    :param one_way: the paths of fields whose earlier values may be seen later: ``fresh`` and ``back`` do not look at
        their changes
    :param steps: changes with which those without an effect are combined, besides those that are found
    :param checks: which oracles are on, and which fields of objects may differ
    :param options: the options of the worlds
    :param most_records: after so many records of a step, it does not settle any more
    :raises ValueError: if there is no manifest, or a path cannot be read
    """

    begin: Begin
    manifests: Sequence[Any]
    fields: Sequence[str] = ()
    without_effect: Sequence[str] = ()
    one_way: Sequence[str] = ()
    steps: Sequence[Change] = ()
    checks: Checks = field(default_factory=Checks)
    options: WorldOptions = field(default_factory=partial(WorldOptions, patience=PATIENCE))
    most_records: int = 20_000

    def __post_init__(self) -> None:
        for path in (*self.fields, *self.without_effect, *self.one_way):
            if not steps_of(path):
                raise ValueError(f"{path!r} is not a field: want a path like spec.ports.0.name")
        if not self.objects:
            raise ValueError("there is no object whose fields could be changed")

    @property
    def objects(self) -> list[dict[str, Any]]:
        """The manifests, one by one."""
        return list(manifests_of(self.manifests))

    def is_in(self, path: Path, patterns: Iterable[str]) -> bool:
        return any(is_below(path, steps_of(pattern)) for pattern in patterns)


@dataclass(frozen=True, slots=True)
class Finding:
    """
    Something that does not hold.

    :param field: the field; empty if the object as it is fails
    :param rule: ``settles``, ``fresh``, ``back`` or ``effect``
    :param change: the change that shows it; None for the object as it is
    :param text: what was found
    """

    field: str
    rule: str
    change: Change | None
    text: str

    def __str__(self) -> str:
        return f"{self.change or 'the object as it is'}\n    {self.rule}: {self.text}"


@dataclass
class FieldReport:
    """
    The result of a survey.

    :param findings: what does not hold
    :param tried: by field, the changes that were played
    :param left_out: by field that was not changed, what the server said of the last value; empty if no other value is
        known
    :param runs: the number of runs
    :param seconds: their virtual time
    """

    findings: list[Finding] = field(default_factory=list)
    tried: dict[str, list[Change]] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    runs: int = 0
    seconds: float = 0.0

    @property
    def is_clean(self) -> bool:
        return not self.findings

    def __str__(self) -> str:
        values = sum(map(len, self.tried.values()))
        head = f"{values} values of {len(self.tried)} fields, {self.runs} runs; {len(self.left_out)} fields left out."
        return "\n".join([head, *map(str, self.findings)])


def try_fields(subject: Subject) -> FieldReport:
    """
    Change each field of an object to other valid values, and judge what the controllers do.

    It is a plain function with event loops of its own. So call it where no other loop runs.

    :raises ScenarioError: if the manifests cannot be applied, or the server does not know the kind
    """
    return _Survey(subject).run()


def try_change(subject: Subject, change: Change) -> tuple[FieldReport, str]:
    """
    Play one change alone.

    :return: what does not hold, and the timeline of the run in which the object is changed and changed back
    :raises ScenarioError: if the changed object cannot be created
    """
    survey = _Survey(subject)
    run = survey.judge_alone(change)
    return survey.report, text_timeline(run.history.records, ())


@dataclass(frozen=True)
class _Run:
    """
    One run.

    :param states: the normal forms of the state, after the object was created and after each step
    :param problems: what is wrong in it, whatever other runs do
    :param digest: of everything that the processes did and saw, with the times
    :param writes: how often the processes wrote
    """

    states: Sequence[Normal]
    problems: Sequence[str]
    digest: str
    writes: int
    history: History


class _Survey:
    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        *self._around, self._object = subject.objects
        self.report = FieldReport()
        self._name = ""
        self._namespace = ""

    def run(self) -> FieldReport:
        accepted = self._offer()
        base = self._play(self._object)
        if base.problems:
            self.report.findings += [Finding("", "settles", None, text) for text in base.problems[:_NAMED]]
            return self.report
        effects: dict[Path, bool] = {}
        idle, active = list[Accepted](), list[tuple[int, Accepted]]()
        for each in accepted:
            fresh, there = self._judge(each.change, base, can_follow=each.can_follow)
            differs = not self._is_same(fresh, base, each.change)
            effects[each.field.path] = effects.get(each.field.path, False) or differs
            if not differs:
                idle.append(each)
            if there is not None and differs:
                active.append((there.writes, each))
        self._combine(idle, active, effects)
        return self.report

    # -- the fields ---------------------------------------------------------------------------------------------------

    def _offer(self) -> list[Accepted]:
        """The valid changes. Fields without one are put into the report."""
        found: list[Accepted] = []

        async def scenario(world: World) -> None:
            await self._begin(world)
            resource = world.resource_of(self._object)
            self._namespace = (self._object["metadata"].get("namespace") or "default") if resource.namespaced else ""
            gvr = resource.gvr
            document = openapi_document(world.server.registry, gvr.group, gvr.version, "")
            if document is None:
                raise LookupError(f"the server does not serve {gvr}")
            schemas = Schemas(document)
            schema = schemas.of_kind(self._object["kind"])
            offers = Offers(resource, self._object, self._namespace)
            only = [steps_of(path) for path in self.subject.fields]
            fields = list(fields_of(schemas, schema, self._object, only))
            for path, pattern in zip(self.subject.fields, only, strict=True):
                if not any(is_below(each.path, pattern) for each in fields):
                    raise LookupError(f"there is no field {path}")
            for each in fields:
                changes, refusal = await offers.accepted(each, schemas, schema)
                found.extend(changes)
                if not changes:
                    self.report.left_out[Change(each.path, None).field] = refusal
            await resource.create(self._object, self._namespace)
            await world.settled()
            found[:] = await offers.followed(found)

        result = run_world(scenario, Plan(), options=self.subject.options, checks=self.subject.checks)
        if result.error is not None and not isinstance(result.error, AssertionError):
            raise ScenarioError(f"the object cannot be tried: {result.error}") from result.error
        for each in found:
            self.report.tried.setdefault(each.change.field, []).append(each.change)
        return found

    # -- runs ---------------------------------------------------------------------------------------------------------

    async def _begin(self, world: World) -> Callable[[], Any] | object:
        await world.apply(*self._around)
        await world.settled()
        return self.subject.begin(world)

    async def _settle(self, world: World) -> None:
        """
        Wait until the world has settled.

        :raises NotSettled: if it has not within its patience, or if too much happens: a controller that writes without
            a pause would be played for the patience's time
        """
        begun, give_up = len(world.history), world.now + self.subject.options.patience
        while True:
            with anyio.move_on_after(0.1):
                await world.settled()
                return
            if world.now > give_up or len(world.history) - begun > self.subject.most_records:
                raise NotSettled(f"it has not settled after {len(world.history) - begun} records")

    def _play(self, first: _Manifest, *then: _Manifest | None) -> _Run:
        """Create an object, and change it to what follows. None stands for its deletion."""
        states: list[Normal] = []

        async def scenario(world: World) -> None:
            outside = await self._begin(world)
            resource = world.resource_of(first)
            self._namespace = (first["metadata"].get("namespace") or "default") if resource.namespaced else ""
            name = first["metadata"]["name"]
            self._name = f"{resource.gvr.group_resource}/{self._namespace}/{name}".replace("//", "/")

            async def note() -> None:
                await self._settle(world)
                state = world.oracles.reference(world.state.objects()).state
                states.append({**state, "outside": [outside()]} if callable(outside) else state)

            await resource.create(first, self._namespace)
            await note()
            for before, after in pairwise((first, *then)):
                if after is None:
                    await resource.delete(name, self._namespace)
                else:
                    assert before is not None, "nothing follows the deletion"
                    patch = create_merge_patch(before, after)
                    try:
                        await resource.patch(name, patch, self._namespace, patch_type=PatchType.MERGE)
                    except Invalid:
                        if after is not first:
                            raise
                        return  # such a change cannot be taken back
                await note()

        result = run_world(scenario, Plan(), options=self.subject.options, checks=self.subject.checks)
        self.report.runs += 1
        self.report.seconds += result.seconds
        return _run_of(result, states, "scenario" not in self.subject.checks.without)

    def judge_alone(self, change: Change) -> _Run:
        """Judge one change, also if no other value of its field is known."""
        base = self._play(self._object)
        fresh, there = self._judge(change, base, can_follow=True)
        self.report.tried[change.field] = [change]
        if self._is_same(fresh, base, change):
            self.report.findings.append(Finding(change.field, "effect", change, "this value alone has no effect"))
        return there or fresh

    def _judge(self, change: Change, base: _Run, *, can_follow: bool) -> tuple[_Run, _Run | None]:
        """Play a change as a new object, and, if it can follow, as a change and its reverse."""
        changed = change.of(self._object)
        fresh = self._play(changed)
        there = self._play(self._object, changed, self._object) if can_follow and not fresh.problems else None
        problems = fresh.problems or (there.problems if there is not None else ())
        self._found(change, "settles", problems)
        if there is not None and not problems and not self.subject.is_in(change.path, self.subject.one_way):
            self._found(change, "fresh", differences(there.states[1], fresh.states[0], "for a new object"))
            if len(there.states) > 2:
                self._found(change, "back", differences(there.states[2], base.states[0], "at first"))
        return fresh, there

    def _found(self, change: Change, rule: str, what: Iterable[object]) -> None:
        texts = list(map(str, what))
        if any(each.field == change.field and each.rule == rule for each in self.report.findings):
            return
        more = f" (and {len(texts) - _NAMED} more)" if len(texts) > _NAMED else ""
        if texts:
            text = "; ".join(texts[:_NAMED]) + more
            self.report.findings.append(Finding(change.field, rule, change, text))

    # -- effects ------------------------------------------------------------------------------------------------------

    def _is_same(self, run: _Run, other: _Run, *changes: Change) -> bool:
        """Whether the processes did the same in two runs, and left the same state besides what the user has written."""
        if run.digest != other.digest or len(run.states) != len(other.states):
            return False
        seen = [self._without_user(state, changes) for state in run.states]
        return seen == [self._without_user(state, changes) for state in other.states]

    def _without_user(self, state: Normal, changes: Sequence[Change]) -> Normal:
        """A state without what the user has written into the object: all but its status and metadata."""
        own = [{key: obj[key] for key in ("metadata", "status") if key in obj} for obj in state.get(self._name, ())]
        for change in changes:
            if change.path[0] == "metadata":
                own = [replace(change, value=None).of(obj) for obj in own]
        return {**state, self._name: own}

    def _combine(self, idle: list[Accepted], active: list[tuple[int, Accepted]], effects: dict[Path, bool]) -> None:
        """Play values that have no effect alone with other steps, and report the fields without any effect."""
        steps = [*self.subject.steps, *_largest(active)]
        alone: dict[str, _Run] = {}
        for each in idle:
            if self._has_effect(each.field.path, effects) or self._may_be_idle(each.field):
                continue
            path = each.change.path
            for step in steps:
                if step is not None and (is_below(step.path, path) or is_below(path, step.path)):
                    continue
                if str(step) not in alone:
                    alone[str(step)] = self._play(self._object, _after(self._object, step))
                changed = each.change.of(self._object)
                if not self._is_same(self._play(changed, _after(changed, step)), alone[str(step)], each.change):
                    effects[each.field.path] = True
                    break
        self._report_idle(idle, effects)

    @staticmethod
    def _has_effect(path: Path, effects: Mapping[Path, bool]) -> bool:
        """Whether a field, or one within it, has an effect."""
        return any(found and is_below(other, path) for other, found in effects.items())

    def _may_be_idle(self, found: Field) -> bool:
        return found.is_marked or self.subject.is_in(found.path, self.subject.without_effect)

    def _report_idle(self, idle: Iterable[Accepted], effects: Mapping[Path, bool]) -> None:
        named: set[Path] = set()
        for each in idle:
            path = each.field.path
            if path in named or self._has_effect(path, effects) or self._may_be_idle(each.field):
                continue
            named.add(path)
            text = "no value has an effect, alone or with another change"
            self.report.findings.append(Finding(each.change.field, "effect", each.change, text))


def _largest(active: Iterable[tuple[int, Accepted]]) -> list[Change | None]:
    """The steps with which other changes are combined: the deletion, and the changes with the most writes."""
    steps: list[Change | None] = [None]
    for _, each in sorted(active, key=lambda pair: -pair[0]):
        if len(steps) <= _COMBINED and all(step is None or step.path != each.change.path for step in steps):
            steps.append(each.change)
    return steps


def _after(obj: _Manifest, step: Change | None) -> _Manifest | None:
    return step.of(obj) if step is not None else None


def _run_of(result: RunResult, states: Sequence[Normal], has_scenario: bool) -> _Run:
    problems = [str(violation) for violation in result.violations]
    if result.error is not None and has_scenario:
        problems.insert(0, f"the user's steps: {type(result.error).__name__}: {result.error}")
    problems += _failing(result.history)
    digest, writes = hashlib.sha256(), 0
    processes = {record.actor for record in result.history if record.what == "start"}
    for record in result.history:
        if record.actor in processes:
            digest.update(str(record._replace(number=0)).encode())
            writes += record.what == "write"
    return _Run(states, problems, digest.hexdigest(), writes, result.history)


def _failing(history: History) -> Iterator[str]:
    """The syncs whose last run has failed and is tried again."""
    last: dict[tuple[str, str, str], str] = {}
    for record in history:
        if record.what == "synced":
            controller, _, error = record.detail.partition(" ")
            last[record.actor, controller, record.object] = error
    for (actor, controller, key), error in last.items():
        if error and error not in ("TerminalError", "CancelledError"):
            yield f"syncs: {actor} tries {key} again and again: {controller} fails with {error}"
