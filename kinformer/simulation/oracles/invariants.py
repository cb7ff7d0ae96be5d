"""The oracle of the user's own conditions: they have to hold after every write, or at the end."""

from __future__ import annotations

from collections.abc import Sequence

from kinformer.simulation.history import Record
from kinformer.simulation.oracles.base import Ending, Invariant, Oracle, State, Violation

__all__ = ("Invariants",)


class Invariants(Oracle):
    """
    The conditions that a scenario has set.

    A condition that is broken by a write is reported once, with the record of that write. Conditions can also be added
    during the run.
    """

    name = "invariants"
    listens = ("write",)

    def __init__(self) -> None:
        self._always: list[Invariant] = []
        self._eventually: list[Invariant] = []
        self._last = 0

    def assert_always(self, invariant: Invariant) -> None:
        """Check a condition after every write from now on, until it is broken."""
        self._always.append(invariant)

    def assert_eventually(self, invariant: Invariant) -> None:
        """Check a condition when the run is over."""
        self._eventually.append(invariant)

    def record(self, record: Record, state: State) -> Sequence[Violation]:
        self._last = record.number
        if not self._always:
            return ()
        found = []
        for invariant in list(self._always):
            why = _broken(invariant, state)
            if why is not None:
                self._always.remove(invariant)
                text = f"{_name(invariant)} does not hold after {record.actor} wrote {record.object}{why}"
                found.append(self.violation(text, record.number))
        return found

    def finish(self, ending: Ending) -> Sequence[Violation]:
        broken = ((invariant, _broken(invariant, ending.state)) for invariant in self._eventually)
        return [
            self.violation(f"{_name(invariant)} does not hold in the end{why}", self._last)
            for invariant, why in broken
            if why is not None
        ]


def _broken(invariant: Invariant, state: State) -> str | None:
    """None if the condition holds, otherwise the end of a text that says why it does not."""
    try:
        return None if invariant(state) is not False else ""
    except Exception as error:  # whatever a user's code raises, the run goes on
        text = " ".join(str(error).split())
        if isinstance(error, AssertionError):
            # With pytest's assertion rewriting, the text says which values were compared.
            return f": {text}" if text else ""
        return f": it raised {type(error).__name__}: {text}"


def _name(invariant: Invariant) -> str:
    name = getattr(invariant, "__name__", type(invariant).__name__)
    code = getattr(invariant, "__code__", None)
    where = f" ({code.co_filename.rpartition('/')[2]}:{code.co_firstlineno})" if code is not None else ""
    return ("the invariant" if name == "<lambda>" else name) + where
