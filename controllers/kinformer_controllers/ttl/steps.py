"""For how long kubelets may keep what they have read, by how many nodes there are.

The steps overlap, so that a cluster whose size goes up and down a little does not have all its nodes written each time.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

__all__ = ("STEPS", "Sizes", "Step")


class Step(NamedTuple):
    """
    :param least: with fewer nodes, the step before counts
    :param most: with more nodes, the step after it does
    :param seconds: for how long kubelets may keep what they have read
    """

    least: float
    most: float
    seconds: int


STEPS: Final = (
    Step(0, 100, 0),
    Step(90, 500, 15),
    Step(450, 1000, 30),
    Step(900, 2000, 60),
    Step(1800, math.inf, 300),
)


class Sizes:
    """The step on which a cluster is, from one size to the next."""

    def __init__(self) -> None:
        self.nodes = 0
        self._step = 0

    @property
    def seconds(self) -> int:
        """For how long kubelets may keep what they have read."""
        return STEPS[self._step].seconds

    def change(self, by: int) -> None:
        """
        Take note of nodes that came or went.

        :param by: how many; less than none if they went
        """
        self.nodes += by
        while self.nodes > STEPS[self._step].most:
            self._step += 1
        while self.nodes < STEPS[self._step].least:
            self._step -= 1
