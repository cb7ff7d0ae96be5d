from __future__ import annotations

import io
import json

import pytest
import structlog

from kinformer.logs import configure_logging


def fail_with(secret: str) -> None:
    raise RuntimeError(f"no luck with {len(secret)} characters")


@pytest.mark.parametrize("logging_format", ["text", "json"])
def test_a_traceback_shows_the_frames_and_none_of_their_variables(
    capsys: pytest.CaptureFixture[str], logging_format: str
) -> None:
    configure_logging(0, logging_format)
    try:
        fail_with("s3cr" + "et")
    except RuntimeError:
        structlog.get_logger().exception("sync_failed", key="default/a")

    shown = capsys.readouterr().err
    assert "sync_failed" in shown
    assert "default/a" in shown
    assert "fail_with" in shown
    assert "no luck with 6 characters" in shown
    assert "s3cret" not in shown


def test_json_is_one_event_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging(0, "json")
    structlog.get_logger().info("controller_started", workers=5)
    structlog.get_logger().debug("not_asked_for")

    [line] = capsys.readouterr().err.splitlines()
    said = json.loads(line)
    assert (said["event"], said["level"], said["workers"]) == ("controller_started", "info", 5)


@pytest.mark.parametrize(
    ("verbosity", "quiet", "levels"),
    [
        (0, False, ["info", "error"]),
        (0, True, []),
        (2, True, ["info", "error"]),
        (4, False, ["debug", "info", "error"]),
    ],
)
def test_verbosity_is_klogs(capsys: pytest.CaptureFixture[str], verbosity: int, quiet: bool, levels: list[str]) -> None:
    configure_logging(verbosity, "json", quiet=quiet)
    for level in ("debug", "info", "error"):
        getattr(structlog.get_logger(), level)("event")

    assert [json.loads(line)["level"] for line in capsys.readouterr().err.splitlines()] == levels


def test_a_server_cannot_write_lines_or_escape_sequences_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging()
    said = "no\n2026-01-01 [info ] all is well\r\x1b[2J\x1b]52;c;ZXZpbA==\x07\x9b31m\u2028\u202e"
    try:
        raise RuntimeError(said)
    except RuntimeError as error:
        structlog.get_logger().exception("watch_failed", error=str(error), late=[said])

    shown = capsys.readouterr().err
    assert "\\n2026-01-01" in shown
    assert not [line for line in shown.splitlines() if line.startswith("2026-01-01 [info ] all")][1:]
    assert not set(shown) & set("\r\x1b\x07\x9b\u2028\u202e")


def test_the_log_goes_where_it_is_told_to_go(capsys: pytest.CaptureFixture[str]) -> None:
    file = io.StringIO()
    configure_logging(logging_format="json", file=file)
    structlog.get_logger().info("event")

    assert json.loads(file.getvalue())["event"] == "event"
    assert capsys.readouterr().err == ""
