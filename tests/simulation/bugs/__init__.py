"""Public bugs of well-known operators, made again: see :mod:`tests.simulation.bugs.base`."""

from __future__ import annotations

from importlib import import_module
from typing import Final

from tests.simulation.bugs.base import Bug

__all__ = ("BUGS",)

_MODULES: Final = (
    "rabbitmq_648",
    "zookeeper_312",
    "cassandra_402",
    "cass_118",
    "rabbitmq_653",
    "zookeeper_314",
    "cassandra_407",
    "rabbitmq_782",
    "casskop_370",
    "nifikop_49",
    "cassandra_398",
    "rabbitmq_758",
    "casskop_321",
    "kyverno_5984",
)

BUGS: Final[tuple[Bug, ...]] = tuple(import_module(f"{__name__}.{module}").BUG for module in _MODULES)
