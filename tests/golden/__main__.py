"""``python -m tests.golden``: replay recorded answers of Kubernetes and say where ours differ."""

from __future__ import annotations

import logging

import click
import structlog

from tests.golden.functions_command import functions
from tests.golden.scenario_command import scenario
from tests.golden.seeds.command import seeds
from tests.golden.wire_command import wire


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def golden() -> None:
    """Ask this project what Kubernetes was asked, and compare the answers."""


golden.add_command(functions)
golden.add_command(wire)
golden.add_command(scenario)
golden.add_command(seeds)


if __name__ == "__main__":
    # What an informer under test has to say is no part of the answer.
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    golden(prog_name="python -m tests.golden")
