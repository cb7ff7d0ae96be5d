"""What the page on observability says: metrics, checks, limits and flags are those that there are."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from prometheus_client import REGISTRY

import kinformer.client.metrics  # registers its metrics
import kinformer.leaderelection
import kinformer.manager.serving.routes
import kinformer.operator.webhooks  # noqa: F401  # as above: each module registers its metrics
from kinformer.cli.command import main
from kinformer.client import connect
from kinformer.manager import Controller, LeaderElection, Manager
from kinformer.manager.checks import HealthLimits
from kinformer.manager.health import SLI_REGISTRY
from kinformer.workqueue.metrics import default_provider

PAGE = (Path(__file__).parents[2] / "docs" / "observability.md").read_text()


def rows(heading: str) -> list[list[str]]:
    """The cells of the first table below a heading."""
    table = PAGE.partition(heading)[2].partition("\n|")[2].partition("\n\n")[0]
    lines = [re.split(r"(?<!\\)\|", line.strip().removeprefix("|").removesuffix("|")) for line in table.splitlines()]
    return [[cell.strip() for cell in line] for line in lines[2:]]


def registered() -> set[str]:
    default_provider()
    names: set[str] = set()
    for registry in (REGISTRY, SLI_REGISTRY):
        for found in registry._collector_to_names.values():
            names.update(found)
        names.update(metric.name for metric in registry.collect())
    return names


def test_every_metric_of_the_table_is_there() -> None:
    told = {name for row in rows("## Metrics") for name in re.findall(r"`(\w+)`", row[0])}

    assert len(told) > 30
    assert {name for name in told if not {name, name.removesuffix("_total")} & registered()} == set()


def test_alerts_use_metrics_of_the_table() -> None:
    told = {name for row in rows("## Metrics") for name in re.findall(r"`(\w+)`", row[0])}
    used = {name for row in rows("### Alerts") for name in re.findall(r"\b[a-z]+_[a-z_]+\b", row[1])}

    assert used - told == set()
    assert len(used) >= 8


async def test_the_checks_are_those_of_a_manager() -> None:
    async def sync(key: str) -> None: ...

    async with connect(url="http://127.0.0.1:1", token="x") as client:
        known: dict[str, Any] = {"mine": lambda _: Controller("mine", sync)}
        manager = Manager(client, known=known, endpoint=("127.0.0.1", 0), leader_election=LeaderElection())
    assert manager.endpoint is not None
    (_, livez, readyz) = manager.endpoint._health
    told = {"livez": {"mine"}, "readyz": {"mine"}}
    for name, live, ready in rows("## Health"):
        if name.startswith("`"):
            told["livez"] |= {name.strip("`")} if live else set()
            told["readyz"] |= {name.strip("`")} if ready else set()

    assert told == {"livez": set(livez.names), "readyz": set(readyz.names)}


def test_the_limits_are_the_defaults() -> None:
    limits = HealthLimits()

    assert f"more than {limits.loop_dead:g} of the last 60 s" in PAGE
    assert f"more than {limits.loop_blocked:g} of the last 60 s" in PAGE
    assert f"handed out none for {limits.queue_dead / 60:g} min | the same for {limits.queue_stuck / 60:g} min" in PAGE
    assert f"brought nothing for {limits.informer_silent / 60:g} min" in PAGE


@pytest.mark.parametrize(
    "flag", sorted({flag for row in rows("## Who may read it") for flag in re.findall(r"`(--[a-z-]+)`", row[0])})
)
def test_the_flags_are_the_managers(flag: str) -> None:
    assert flag in CliRunner().invoke(main, ["manager", "--help"]).output
