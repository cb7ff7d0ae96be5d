from __future__ import annotations

import ast
import errno
import io
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog
from structlog.testing import capture_logs

import kinformer
import kinformer_controllers
from kinformer.logs import configure_logging, error_text, get_logger, traceback_text, typed_error_text

SECRET = "c4n" + "ary"


def fail(token: str) -> None:
    raise RuntimeError(f"no luck with {len(token)} characters")


def structlogs_own(file: io.StringIO) -> None:
    structlog.reset_defaults()
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(file))


def all_frames_as_json(file: io.StringIO) -> None:
    structlog.configure(
        [structlog.processors.dict_tracebacks, structlog.processors.JSONRenderer()],
        logger_factory=structlog.PrintLoggerFactory(file),
    )


def rich_with_locals(file: io.StringIO) -> None:
    renderer = structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.RichTracebackFormatter(show_locals=True))
    structlog.configure([renderer], logger_factory=structlog.PrintLoggerFactory(file))


def text(file: io.StringIO) -> None:
    configure_logging(file=file)


def as_json(file: io.StringIO) -> None:
    configure_logging(logging_format="json", file=file)


@pytest.mark.parametrize("configure", [structlogs_own, all_frames_as_json, rich_with_locals, text, as_json])
def test_no_configuration_shows_the_variables_of_a_traceback(configure: Callable[[io.StringIO], None]) -> None:
    file = io.StringIO()
    configure(file)
    try:
        fail(SECRET)
    except RuntimeError:
        get_logger(__name__).exception("sync_failed", key="default/a")

    shown = file.getvalue()
    assert "sync_failed" in shown
    assert "in fail" in shown
    assert "no luck with 6 characters" in shown
    assert SECRET not in shown


@pytest.mark.parametrize("configure", [structlogs_own, text])
def test_no_configuration_shows_control_characters_of_a_server(configure: Callable[[io.StringIO], None]) -> None:
    file = io.StringIO()
    configure(file)
    get_logger(__name__, about="\x07").bind(more=("\x9d",)).error("refused", error="a\nb\x1b[31m\x0b", by={"x\r": "\0"})

    shown = file.getvalue()
    assert "a\\nb\\x1b[31m" in shown
    assert shown.count("\n") == 1
    assert not set(shown) & set("\x07\x9d\x0b\r\0")


def test_bound_values_go_out_with_every_event_and_its_traceback() -> None:
    log = get_logger(__name__, controller="a").bind(worker=1)
    with capture_logs() as logs:
        log.info("one", key="x")
        try:
            fail("")
        except RuntimeError:
            log.exception("two", worker=2)

    assert logs[0] == {"event": "one", "controller": "a", "worker": 1, "key": "x", "log_level": "info"}
    assert (logs[1]["log_level"], logs[1]["worker"]) == ("error", 2)
    assert logs[1]["stack"].startswith("Traceback (most recent call last):\n")


def test_of_an_endless_traceback_the_middle_is_left_out() -> None:
    shown = traceback_text(RuntimeError("x" * 10_000_000))

    assert len(shown) < 30_000
    assert "\n[…]\n" in shown


def _modules_with_exc_info() -> Iterator[tuple[Path, Any]]:
    for package in (kinformer, kinformer_controllers):
        for file in Path(package.__path__[0]).rglob("*.py"):
            if file.parent.name != "logs":
                text = file.read_text(encoding="utf-8")
                if "exc_info" in text:
                    yield file, ast.parse(text)


def test_no_module_passes_an_exception_on_to_the_log() -> None:
    passed = [
        f"{file}:{node.value.lineno}"
        for file, tree in _modules_with_exc_info()
        for node in ast.walk(tree)
        if isinstance(node, ast.keyword) and node.arg == "exc_info"
    ]

    assert passed == []


def test_without_a_configuration_events_go_to_the_programs_own_logging(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    log = get_logger("kinformer.trial")
    log.debug("hidden")
    try:
        raise ValueError("broken")
    except ValueError:
        log.exception("failed", key="default/web")

    ((name, level, text),) = caplog.record_tuples
    assert (name, level) == ("kinformer.trial", logging.ERROR)
    assert text.startswith("failed key='default/web'\nTraceback ")
    assert capfd.readouterr().out == ""


class Full(io.StringIO):
    def write(self, text: str) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("level", ["debug", "info", "warning", "error", "exception"])
def test_an_event_that_cannot_be_written_is_lost_and_nothing_else(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, level: str
) -> None:
    configure_logging(4, file=Full())

    getattr(get_logger("test"), level)("event")
    assert "the log failed:" in capsys.readouterr().err

    monkeypatch.setattr("sys.stderr", Full())
    getattr(get_logger("test"), level)("event")


def test_a_processor_that_raises_costs_one_event(capsys: pytest.CaptureFixture[str]) -> None:
    def broken(*_: Any) -> Any:
        raise KeyError("colour")

    structlog.configure([broken])

    get_logger("test").info("event")

    assert "KeyError: 'colour'" in capsys.readouterr().err


def test_an_exception_whose_text_cannot_be_read_is_called_by_its_type() -> None:
    class Speechless(Exception):
        def __str__(self) -> str:
            raise AttributeError("'Speechless' object has no attribute 'response'")

    assert error_text(ExceptionGroup("both", [Speechless(), ValueError()])) == "both: Speechless; ValueError()"


def test_the_text_of_a_key_error_says_more_than_the_key() -> None:
    assert error_text(KeyError("huge")) == "KeyError: 'huge'"
    assert [typed_error_text(error) for error in (KeyError("huge"), ValueError("no"), ValueError())] == [
        "KeyError: 'huge'",
        "ValueError: no",
        "ValueError()",
    ]
