from __future__ import annotations

import pytest
from prometheus_client import generate_latest
from structlog.testing import capture_logs

from kinformer.manager.health import PING, SLI_REGISTRY, Answer, HealthCheck, HealthChecks

WELL = HealthCheck("well", lambda: "")
ILL = HealthCheck("ill", lambda: "the disk 7 of db-1 is full")


def test_all_well_is_one_word() -> None:
    assert HealthChecks("readyz", [PING, WELL]).answer() == Answer(200, "ok")


def test_verbose_shows_a_line_for_each_check() -> None:
    answer = HealthChecks("readyz", [PING, WELL]).answer(verbose=True)

    assert answer == Answer(200, "[+]ping ok\n[+]well ok\nreadyz check passed\n")


def test_a_failure_shows_all_lines_and_not_the_reason() -> None:
    answer = HealthChecks("livez", [PING, ILL, WELL]).answer()

    assert answer == Answer(500, "[+]ping ok\n[-]ill failed: reason withheld\n[+]well ok\nlivez check failed\n")


def test_the_reason_is_told_at_the_checks_own_path() -> None:
    checks = HealthChecks("livez", [PING, ILL])

    assert checks.answer_one("ill") == Answer(500, "internal server error: the disk 7 of db-1 is full\n")
    assert checks.answer_one("ping") == Answer(200, "ok")
    assert checks.answer_one("other") is None


def test_a_check_can_be_excluded() -> None:
    answer = HealthChecks("readyz", [PING, ILL]).answer(["ill"], verbose=True)

    assert answer == Answer(200, "[+]ping ok\n[+]ill excluded: ok\nreadyz check passed\n")


def test_names_that_exclude_nothing_are_shown() -> None:
    answer = HealthChecks("readyz", [PING]).answer(["x", "a", "ping"], verbose=True)

    assert answer.text == (
        "[+]ping excluded: ok\n"
        'warn: some health checks cannot be excluded: no matches for "a","x"\n'
        "readyz check passed\n"
    )


def test_a_check_that_raises_fails_and_the_others_are_made() -> None:
    def broken() -> str:
        raise KeyError("secret")

    checks = HealthChecks("readyz", [HealthCheck("broken", broken), WELL])
    with capture_logs() as logs:
        answer = checks.answer()

    assert answer == Answer(500, "[-]broken failed: reason withheld\n[+]well ok\nreadyz check failed\n")
    assert checks.answer_one("broken") == Answer(500, "internal server error: the check itself failed: KeyError\n")
    assert [line["event"] for line in logs] == ["health_check_raised", "health_check_failed"]


def test_the_log_is_told_of_each_change_once() -> None:
    wrong = ["", "no", "no", "never", "", ""]
    checks = HealthChecks("readyz", [HealthCheck("moody", lambda: wrong.pop(0))])
    with capture_logs() as logs:
        for _ in range(6):
            checks.answer()

    assert [(line["event"], line["check"], line.get("reason")) for line in logs] == [
        ("health_check_failed", "moody", "no"),
        ("health_check_passed", "moody", None),
    ]


def test_how_checks_ended_is_counted() -> None:
    checks = HealthChecks(
        "readyz", [HealthCheck("counted-ill", lambda: "yes"), HealthCheck("counted-well", lambda: "")]
    )
    checks.answer()
    checks.answer()

    shown = generate_latest(SLI_REGISTRY).decode()
    assert 'kubernetes_healthcheck{name="counted-ill",type="readyz"} 0.0' in shown
    assert 'kubernetes_healthcheck{name="counted-well",type="readyz"} 1.0' in shown
    assert 'kubernetes_healthchecks_total{name="counted-ill",status="error",type="readyz"} 2.0' in shown


def test_two_checks_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="two checks of readyz have one name"):
        HealthChecks("readyz", [PING, PING])
