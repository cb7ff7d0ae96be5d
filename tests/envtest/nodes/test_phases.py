from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kinformer.envtest.nodes import EXIT_CODE, PENDING_SECONDS, READY_AFTER_SECONDS, RUN_SECONDS, PodScriptError
from kinformer.envtest.nodes.phases import Placement, PodScript, status_at
from kinformer.models import V1Pod, from_dict

SINCE = datetime(2026, 1, 1, tzinfo=UTC)
PLACE = Placement("10.1.0.2", "192.168.0.2", SINCE)


def report(seconds: float, restart_policy: str = "Always", **script: float) -> tuple[dict[str, Any], float]:
    pod = from_dict(V1Pod, {"spec": {"restartPolicy": restart_policy, "containers": [{"name": "c", "image": "i"}]}})
    return status_at(pod, PLACE, PodScript(**script), SINCE + timedelta(seconds=seconds))  # type: ignore[arg-type]


def condition(status: dict[str, Any], type_: str) -> str:
    return next(str(c["status"]) for c in status["conditions"] if c["type"] == type_)


def test_without_a_script_a_pod_runs_and_is_ready_at_once() -> None:
    status, changes_in = report(0)

    assert (status["phase"], condition(status, "Ready"), changes_in) == ("Running", "True", math.inf)
    assert status["podIP"] == "10.1.0.2"
    assert status["containerStatuses"][0]["state"] == {"running": {"startedAt": "2026-01-01T00:00:00Z"}}


def test_a_pod_is_pending_while_its_images_are_pulled() -> None:
    status, changes_in = report(2, pending=5)

    assert (status["phase"], condition(status, "Ready"), changes_in) == ("Pending", "False", 3)
    assert "podIP" not in status


def test_a_pod_that_runs_becomes_ready_later() -> None:
    status, changes_in = report(6, pending=5, ready_after=4)
    assert (status["phase"], condition(status, "Ready"), changes_in) == ("Running", "False", 3)

    status, changes_in = report(9, pending=5, ready_after=4)
    assert (condition(status, "Ready"), changes_in) == ("True", math.inf)


@pytest.mark.parametrize(
    ("seconds", "once", "sidecar", "ready"),
    [
        (2, "waiting", "waiting", [False, False]),
        (6, "terminated", "running", [True, True]),
        (20, "terminated", "terminated", [True, False]),
    ],
)
def test_init_containers_succeed_before_the_others_and_sidecars_run_beside_them(
    seconds: float, once: str, sidecar: str, ready: list[bool]
) -> None:
    initial = [{"name": "once", "image": "i"}, {"name": "sidecar", "image": "i", "restartPolicy": "Always"}]
    spec = {"restartPolicy": "Never", "initContainers": initial, "containers": [{"name": "c", "image": "i"}]}
    pod = from_dict(V1Pod, {"spec": spec})
    status, _ = status_at(pod, PLACE, PodScript(pending=5, run=10), SINCE + timedelta(seconds=seconds))

    found = status["initContainerStatuses"]
    assert [(one["name"], *one["state"]) for one in found] == [("once", once), ("sidecar", sidecar)]
    assert [one["ready"] for one in found] == ready
    assert [one["started"] for one in found] == [False, sidecar == "running"]


def test_a_pod_may_never_become_ready() -> None:
    status, changes_in = report(1e6, ready_after=math.inf)

    assert (condition(status, "Ready"), changes_in) == ("False", math.inf)


@pytest.mark.parametrize(("exit_code", "phase"), [(0, "Succeeded"), (3, "Failed")])
def test_a_pod_that_is_not_started_again_ends(exit_code: int, phase: str) -> None:
    status, changes_in = report(10, "Never", run=4, exit_code=exit_code)

    terminated = status["containerStatuses"][0]["state"]["terminated"]
    assert (status["phase"], changes_in) == (phase, math.inf)
    assert (terminated["exitCode"], terminated["finishedAt"]) == (exit_code, "2026-01-01T00:00:04Z")


def test_a_pod_that_is_started_again_counts_its_restarts() -> None:
    status, changes_in = report(9, run=4, exit_code=1)

    container = status["containerStatuses"][0]
    assert (status["phase"], container["restartCount"], changes_in) == ("Running", 2, 3)
    assert container["lastState"]["terminated"]["exitCode"] == 1


def test_on_failure_starts_again_only_what_failed() -> None:
    assert report(9, "OnFailure", run=4, exit_code=1)[0]["phase"] == "Running"
    assert report(9, "OnFailure", run=4)[0]["phase"] == "Succeeded"


def test_what_ends_at_once_is_started_again_only_once_a_second() -> None:
    status, changes_in = report(2.5, run=0)

    assert (status["containerStatuses"][0]["restartCount"], changes_in) == (2, 0.5)


def test_annotations_say_what_the_containers_do() -> None:
    script = PodScript.of({PENDING_SECONDS: "1", READY_AFTER_SECONDS: "never", RUN_SECONDS: "2.5", EXIT_CODE: "7"})

    assert script == PodScript(1, math.inf, 2.5, 7)
    assert PodScript.of({}) == PodScript()


@pytest.mark.parametrize(
    ("name", "text"), [(PENDING_SECONDS, "soon"), (RUN_SECONDS, "-1"), (RUN_SECONDS, "nan"), (EXIT_CODE, "256")]
)
def test_an_annotation_that_says_something_else_is_an_error_that_names_it(name: str, text: str) -> None:
    with pytest.raises(PodScriptError, match=f"{name} is '{text}'"):
        PodScript.of({name: text})
