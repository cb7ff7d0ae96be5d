"""Health checks, and the answers to probes, in the words of Kubernetes' components.

A check is a function that returns what is wrong. The answer to a probe is a status and a text. The text is ``ok``, or
one line for each check if one failed or the probe asked with ``?verbose``. These lines have only the names of failed
checks, since everybody may ask. The reason is shown at the path of the check itself, such as ``/readyz/queues``, and is
logged when the check begins to fail.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge

from kinformer.logs import get_logger

__all__ = ("PING", "SLI_REGISTRY", "Answer", "HealthCheck", "HealthChecks")

log = get_logger(__name__)

#: The metrics of ``/metrics/slis``: the results of the checks.
SLI_REGISTRY: Final = CollectorRegistry()

_NOW: Final = Gauge(
    "kubernetes_healthcheck",
    "Whether a check passed when it was last made: 1 or 0",
    ("type", "name"),
    registry=SLI_REGISTRY,
)
_TOTAL: Final = Counter(
    "kubernetes_healthchecks_total", "Checks that were made", ("type", "name", "status"), registry=SLI_REGISTRY
)


@dataclass(frozen=True, slots=True)
class HealthCheck:
    """
    One health check.

    :param name: its name in paths, logs and metrics
    :param wrong: returns what is wrong, in a few words; empty if nothing is
    """

    name: str
    wrong: Callable[[], str]


#: Always passes: it shows that the process answers.
PING: Final = HealthCheck("ping", lambda: "")


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a probe: an HTTP status and a text."""

    status: int
    text: str


class HealthChecks:
    """
    The checks behind one path.

    :param kind: ``livez``, ``readyz`` or ``healthz``
    :param checks: in the order in which they are shown
    :raises ValueError: if two checks have the same name
    """

    def __init__(self, kind: str, checks: Sequence[HealthCheck]) -> None:
        self.kind = kind
        self._checks = {check.name: check for check in checks}
        self._failing: set[str] = set()
        if len(self._checks) < len(checks):
            raise ValueError(f"two checks of {kind} have one name: {', '.join(check.name for check in checks)}")

    @property
    def names(self) -> list[str]:
        return list(self._checks)

    def answer(self, excluded: Collection[str] = (), *, verbose: bool = False) -> Answer:
        """
        Make all checks.

        :param excluded: the names of checks to leave out
        :param verbose: show a line for each check even if all pass
        """
        lines = []
        failed = False
        for check in self._checks.values():
            if check.name in excluded:
                lines.append(f"[+]{check.name} excluded: ok")
            elif self._wrong(check):
                failed = True
                lines.append(f"[-]{check.name} failed: reason withheld")
            else:
                lines.append(f"[+]{check.name} ok")
        if unknown := sorted(name for name in set(excluded) if name not in self._checks):
            quoted = ",".join(f'"{name}"' for name in unknown)
            lines.append(f"warn: some health checks cannot be excluded: no matches for {quoted}")
        if failed:
            return Answer(500, "\n".join([*lines, f"{self.kind} check failed\n"]))
        return Answer(200, "\n".join([*lines, f"{self.kind} check passed\n"]) if verbose else "ok")

    def answer_one(self, name: str) -> Answer | None:
        """
        Make one check. If it fails, the answer has the reason.

        :return: None if no check has this name
        """
        check = self._checks.get(name)
        if check is None:
            return None
        wrong = self._wrong(check)
        return Answer(500, f"internal server error: {wrong}\n") if wrong else Answer(200, "ok")

    def _wrong(self, check: HealthCheck) -> str:
        try:
            wrong = check.wrong()
        except Exception as error:
            log.exception("health_check_raised", check=check.name, kind=self.kind)
            wrong = f"the check itself failed: {type(error).__name__}"
        _NOW.labels(self.kind, check.name).set(0 if wrong else 1)
        _TOTAL.labels(self.kind, check.name, "error" if wrong else "success").inc()
        # Logged only when the result changes, because probes ask again and again.
        if wrong and check.name not in self._failing:
            self._failing.add(check.name)
            log.warning("health_check_failed", check=check.name, kind=self.kind, reason=wrong)
        elif not wrong and check.name in self._failing:
            self._failing.discard(check.name)
            log.info("health_check_passed", check=check.name, kind=self.kind)
        return wrong
