from __future__ import annotations

from kinformer.cli.errors import plain_error
from kinformer.client.errors import Status, error_from_status
from kinformer.manager import OptionError


def test_what_a_server_says_is_one_line_without_control_characters() -> None:
    status = Status(status="Failure", code=403, reason="Forbidden", message="no\n\x1b[2J\x9b31m\x07 never")

    shown = plain_error(error_from_status(status))
    assert shown is not None
    assert "no \\x1b[2J\\x9b31m\\x07 never" in shown


def test_an_error_of_ours_has_none() -> None:
    assert plain_error(OptionError("x is 1:\n  want 2")) == "x is 1: want 2"
    assert plain_error(KeyError("a bug")) is None
