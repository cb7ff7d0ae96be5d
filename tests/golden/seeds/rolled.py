"""What a user does to every workload with a template: rolls it out and back, changes its strategy, makes it anew."""

from __future__ import annotations

from typing import Any, ClassVar

from tests.golden.seeds.parts import Draw, Operation, Step, delete, patch, template

__all__ = ("Rolled",)


class Rolled:
    """
    A workload ``app=NAME``, made from templates whose images tell their versions.

    :cvar strategy_path: where its strategy is
    """

    kind: str
    strategy_path: ClassVar = "/spec/updateStrategy"
    settle = 1.1
    settled = 2.0

    def __init__(self, draw: Draw, name: str) -> None:
        self._draw = draw
        self.name = name
        self.selector = f"app={name}"
        self._version = 1
        self._templates = [self._template()]
        self.object: dict[str, Any] = {}

    def _template(self) -> dict[str, Any]:
        return template(self._draw, self.name, self._version)

    def _strategy(self) -> dict[str, Any]:
        raise NotImplementedError

    def _patch(self, spec: dict[str, Any]) -> list[Step]:
        return [patch(self.kind, self.name, {"spec": spec})]

    def _replace(self, path: str, value: Any) -> list[Step]:
        return [patch(self.kind, self.name, [{"op": "add", "path": path, "value": value}], "json")]

    def _roll(self) -> list[Step]:
        self._version += 1
        self._templates.append(self._template())
        return self._replace("/spec/template", self._templates[-1])

    def roll(self) -> Operation:
        steps = self._roll()
        return f"roll to {self._version}", steps

    def roll_back(self) -> Operation:
        chosen = self._draw.number(0, len(self._templates) - 1)
        return f"roll back to {chosen + 1}", self._replace("/spec/template", self._templates[chosen])

    def restrategise(self) -> Operation:
        return "change the strategy", self._replace(self.strategy_path, self._strategy())

    def limit_history(self) -> Operation:
        return "limit the history", self._patch({"revisionHistoryLimit": self._draw.number(0, 2)})

    def make_anew(self, *before: Step) -> Operation:
        policy = self._draw.one(["Orphan", "Background", "Foreground"])
        steps = [delete(self.kind, self.name, policy), {"settle": self.settle}, *before, {"create": self.object}]
        return f"delete ({policy}) and make anew", steps
