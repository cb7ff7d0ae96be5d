"""``@simulate``: make a pytest test of a scenario.

The decorated function is the scenario, and its argument is a world. The test plays the scenario without faults, then by
the given plans, then with each single deviation if this was asked for, then once for each seed. If it fails, its text
has the smallest plan that was found, a timeline, and the command that plays the run again::

    @simulate(seeds=200)
    async def test_web_apps_settle(world: World) -> None:
        await world.apply(CRD, manifest)
        world.manager(make_controller)
        await world.settled()

Options of pytest change what the tests do. Environment variables do the same where there is no command line:

===========================  =================================  ======================================================
option                       variable                           meaning
===========================  =================================  ======================================================
``--simulate-plan PLAN``     ``KINFORMER_SIMULATE_PLAN``        play only this plan
``--simulate-seeds N``       ``KINFORMER_SIMULATE_SEEDS``       the number of seeds, in place of the decorator's
``--simulate-first-seed N``  ``KINFORMER_SIMULATE_FIRST_SEED``  begin at this seed, for other runs than those before
``--simulate-pages FOLDER``  ``KINFORMER_SIMULATE_PAGES``       write a page for each failure into this folder
===========================  =================================  ======================================================
"""

from __future__ import annotations

import functools
import inspect
import os
import re
import shlex
import warnings
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kinformer.simulation.explore import Failure, explore, replay, systematic
from kinformer.simulation.faults import Faults
from kinformer.simulation.incident import replay_recording
from kinformer.simulation.oracles import Checks
from kinformer.simulation.plan import Plan
from kinformer.simulation.single import USUAL_KINDS
from kinformer.simulation.timeline_page import timeline_page
from kinformer.simulation.trial import Trial
from kinformer.simulation.world import WorldOptions

if TYPE_CHECKING:
    import pytest

__all__ = ("replay_recording", "simulate")

_REQUEST = "request"


def simulate(
    *,
    seeds: int = 200,
    faults: Faults | None = None,
    plans: Sequence[str] = (),
    one_by_one: Sequence[str] | bool = False,
    checks: Checks | None = None,
    options: WorldOptions | None = None,
) -> Callable[[Callable[..., Awaitable[object]]], Callable[..., None]]:
    """
    Make a test of a scenario.

    The scenario's first parameter is the world. Other parameters are fixtures and parameters of pytest. Async fixtures
    are not possible, because a world has its own event loop.

    :param seeds: the number of random runs
    :param faults: how often each kind of fault happens in them; if None, the rates give about two faults in a run
    :param plans: plans that are played first, for example those that failed before. A deviation that does not happen is
        warned of
    :param one_by_one: the kinds of single deviations that are played, too; True for crashes, hidden events, restarts,
        and a process that is away while the user writes
    :param checks: which oracles are on, and how strict they are
    :param options: the options of the world
    :raises PlanError: if a plan cannot be read
    """
    named = [Plan.parse(line) for line in plans]
    kinds = USUAL_KINDS if one_by_one is True else tuple(one_by_one or ())

    def decorate(scenario: Callable[..., Awaitable[object]]) -> Callable[..., None]:
        _, *others = inspect.signature(scenario).parameters.values()
        own_request = any(parameter.name == _REQUEST for parameter in others)

        @functools.wraps(scenario)
        def test(**given: Any) -> None:
            __tracebackhide__ = True
            asked = _asked(given[_REQUEST] if own_request else given.pop(_REQUEST))

            async def play(world: Any) -> None:
                await scenario(world, **given)

            trial = Trial(play, checks or Checks(), options or WorldOptions())
            for failure in _failures(trial, asked, seeds, faults, named, kinds):
                _fail(failure, asked)

        request = inspect.Parameter(_REQUEST, inspect.Parameter.KEYWORD_ONLY)
        parameters = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in others]
        signature = inspect.Signature(parameters if own_request else [*parameters, request])
        test.__signature__ = signature  # type: ignore[attr-defined]  # pytest reads it
        return test

    return decorate


def _failures(
    trial: Trial, asked: _Asked, seeds: int, faults: Faults | None, plans: Sequence[Plan], kinds: Sequence[str]
) -> Iterator[Failure]:
    """The failures of a scenario, each as soon as it is found."""
    for plan in plans if asked.plan is None else [asked.plan]:
        report = replay(trial, plan)
        if report.missed:
            missed = " ".join(map(str, report.missed))
            warnings.warn(f"the plan '{plan}' tests less than it says: {missed} did not happen", stacklevel=3)
        yield from report.failures
    if asked.plan is not None:
        return
    if kinds:
        yield from systematic(trial, kinds=kinds).failures
    count = seeds if asked.seeds is None else asked.seeds
    if count:
        faults = faults or Faults().spread(trial.undisturbed.counts)
    yield from explore(trial, range(asked.first_seed, asked.first_seed + count), faults=faults).failures


@dataclass(frozen=True, slots=True)
class _Asked:
    """The options of pytest and the environment."""

    test: str
    plan: Plan | None
    seeds: int | None
    first_seed: int
    pages: Path | None

    @classmethod
    def of(cls, request: pytest.FixtureRequest) -> _Asked:
        def asked(name: str) -> str | None:
            given = request.config.getoption(f"simulate_{name}", None)
            return given if given is not None else os.environ.get(f"KINFORMER_SIMULATE_{name.upper()}")

        plan, pages = asked("plan"), asked("pages")
        return cls(
            test=request.node.nodeid,
            plan=Plan.parse(plan) if plan else None,
            seeds=_count("seeds", asked("seeds")),
            first_seed=_count("first-seed", asked("first_seed")) or 0,
            pages=Path(pages) if pages else None,
        )


def _asked(request: pytest.FixtureRequest) -> _Asked:
    __tracebackhide__ = True
    import pytest

    try:
        return _Asked.of(request)
    except ValueError as error:
        pytest.fail(str(error), pytrace=False)


def _count(name: str, text: str | None) -> int | None:
    """
    Read the value of an option; None if it is empty.

    :raises ValueError: if it is not a whole number from 0
    """
    if not text:
        return None
    if not text.isdecimal():
        raise ValueError(f"--simulate-{name} is a whole number from 0, not {text!r}")
    return int(text)


def _fail(failure: Failure, asked: _Asked) -> None:
    __tracebackhide__ = True
    import pytest

    command = f"pytest {shlex.quote(asked.test)} --simulate-plan {shlex.quote(str(failure.plan))}"
    text = f"{failure}\n\nPlay it again:\n\n    {command}\n"
    if asked.pages is not None:
        asked.pages.mkdir(parents=True, exist_ok=True)
        page = asked.pages / f"{re.sub(r'[^A-Za-z0-9_.-]+', '-', asked.test)}.html"
        page.write_text(
            timeline_page(
                failure.history.records,
                failure.violations,
                plan=failure.plan,
                title=f"{asked.test} fails",
                command=command,
            ),
            encoding="utf-8",
        )
        text += f"\nThe whole run is in {page}\n"
    pytest.fail(text, pytrace=False)
