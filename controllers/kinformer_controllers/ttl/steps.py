"""How long kubelets may cache objects, by the number of nodes.

The steps overlap. So if the size of a cluster goes up and down a little, its nodes are not all written each time.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

__all__ = ("STEPS", "Sizes", "Step")


class Step(NamedTuple):
    """
    One step.

    :param least: with fewer nodes, the step before this one applies
    :param most: with more nodes, the step after this one applies
    :param seconds: how long kubelets may cache objects
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
    """The number of nodes in a cluster, and the step that applies."""

    def __init__(self) -> None:
        self.nodes = 0
        self._step = 0

    @property
    def seconds(self) -> int:
        """How long kubelets may cache objects, in seconds."""
        return STEPS[self._step].seconds

    def change(self, by: int) -> None:
        """
        Count nodes that were added or deleted.

        :param by: their number; negative if they were deleted
        """
        self.nodes += by
        while self.nodes > STEPS[self._step].most:
            self._step += 1
        while self.nodes < STEPS[self._step].least:
            self._step -= 1
