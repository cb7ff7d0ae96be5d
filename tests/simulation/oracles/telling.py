"""Histories written by hand: a state of the storage, and records that oracles are given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kinformer.simulation.history import History, Record, What
from kinformer.simulation.oracles import Ending, Oracle, Violation


@dataclass
class FixedState:
    """The storage, as the test says it is."""

    everything: dict[str, Any] = field(default_factory=dict)

    def get(self, name: str) -> Mapping[str, Any] | None:
        return self.everything.get(name)

    def objects(self) -> Mapping[str, Mapping[str, Any]]:
        return self.everything


@dataclass
class Telling:
    """Gives an oracle one record after the other."""

    oracle: Oracle
    state: FixedState = field(default_factory=FixedState)
    history: History = field(default_factory=History)
    violations: list[Violation] = field(default_factory=list)
    time: float = 0.0

    def __call__(self, actor: str, what: What, name: str = "", version: int = 0, detail: str = "") -> Record:
        record = self.history.append(self.time, actor, what, name, version, detail)
        if what in self.oracle.listens:
            self.violations += self.oracle.record(record, self.state)
        return record

    def write(self, actor: str, name: str, version: int, verb: str = "MODIFIED", obj: Any = None) -> Record:
        """A write, which the state has too."""
        if verb == "DELETED":
            self.state.everything.pop(name, None)
        elif obj is not None or name not in self.state.everything:
            self.state.everything[name] = obj if obj is not None else {"metadata": {"name": name.rpartition("/")[2]}}
        return self(actor, "write", name, version, verb)

    def finish(self, **ending: Any) -> list[str]:
        """What the oracle has said in all."""
        self.violations += self.oracle.finish(Ending(**({"time": self.time, "state": self.state} | ending)))
        return [violation.text for violation in self.violations]


def pod(name: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"}, "spec": spec}


def generated(prefix: str, suffix: str, **spec: Any) -> dict[str, Any]:
    """An object whose name the server has completed."""
    obj = pod(prefix + suffix, **spec)
    obj["metadata"]["generateName"] = prefix
    return obj
