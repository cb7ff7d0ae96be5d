"""``kinformer kube-controller-manager``: kube-controller-manager's command line, for this project's controllers.

In: the arguments of a kube-controller-manager 1.36. Out: a run of ``kinformer manager`` with the same settings. A flag
without effect costs one line of the log. A flag that is refused ends the command.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

import click

if TYPE_CHECKING:
    from kinformer_controllers.kubecontrollermanager.translation import Translation

__all__ = ("kube_controller_manager",)

_NAME: Final = "kube-controller-manager"
_HELP: Final = """Usage: kinformer kube-controller-manager [FLAGS]

  Run this project's controllers with the command line of kube-controller-manager 1.36. What only `kinformer manager`
  can be told is set in the environment: KINFORMER_COMPRESS_CACHES=true for its flag --compress-caches.

Flags, what they do here, and their defaults there:
"""


@click.command(
    _NAME,
    add_help_option=False,
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    short_help="Run the controllers with kube-controller-manager's command line.",
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def kube_controller_manager(arguments: tuple[str, ...]) -> None:
    """Run the controllers with the command line of kube-controller-manager 1.36."""
    from kinformer.cli.manager_command import manager, run_manager
    from kinformer.manager import OptionError, UnknownControllerError
    from kinformer.manager.loading import builtin_controllers, known_controllers
    from kinformer_controllers.kubecontrollermanager.flags import FLAGS, VERSION
    from kinformer_controllers.kubecontrollermanager.translation import parse_flags, translate

    try:
        given = parse_flags(arguments, FLAGS)
        if given.get("help") == "true":
            click.echo(_help())
            return
        if given.get("version", "false") != "false":
            click.echo(f"Kubernetes v{VERSION}, by kinformer {_own_version()}")
            return
        with click.Context(manager) as context:
            here = [option.lstrip("-") for it in manager.get_params(context) for option in it.opts]
        made = translate(given, here, builtin_controllers(known_controllers()))
    except (OptionError, UnknownControllerError) as error:
        raise click.ClickException(str(error)) from None
    shown = {name: given.get(name, flag.default) for name, flag in FLAGS.items()}
    with manager.make_context(f"kinformer {_NAME}", made.arguments) as context:
        # The server takes the manager of the fields that are written from the first part.
        agent = f"{_NAME}/v{VERSION} ({sys.platform}) kinformer/{_own_version()}"
        run_manager(context, made.accounts, lambda: _report(made), shown, agent)


def _report(made: Translation) -> None:
    from kinformer.logs import get_logger

    log = get_logger(__name__)
    for what, why in made.ignored.items():
        log.warning("flag_without_effect", flag=what, why=why)
    for name in made.missing:
        log.warning("controller_not_here", controller=name)


def _own_version() -> str:
    from importlib.metadata import version

    return version("kinformer")


def _help() -> str:
    from kinformer_controllers.kubecontrollermanager.flags import FLAGS
    from kinformer_controllers.kubecontrollermanager.gates import KNOWN

    lines = [_HELP]
    for flag in FLAGS.values():
        what = f"  --{flag.name} {flag.kind.value}".rstrip()
        lines.append(f"{what:<66} {flag.effect.value}{f'  [{flag.default}]' if flag.default else ''}")
    gates = [f"  {name}={str(gate.default).lower()} ({gate.stage})" for name, gate in sorted(KNOWN.items())]
    return "\n".join([*lines, "", "Feature gates, with their defaults:", "", *gates])
