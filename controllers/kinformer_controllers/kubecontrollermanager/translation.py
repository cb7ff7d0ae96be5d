"""Translates the flags of kube-controller-manager into those of ``kinformer manager``.

In: the flags that were given. Out: arguments, service accounts, and what to say in the log. What differs is declared in
:mod:`~kinformer_controllers.kubecontrollermanager.flags`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from kinformer.options import OptionError
from kinformer_controllers.kubecontrollermanager.controllers import ACCOUNTS, selection_of
from kinformer_controllers.kubecontrollermanager.flags import FLAGS, VERSION, Effect, Kind
from kinformer_controllers.kubecontrollermanager.gates import split_gates

__all__ = ("Translation", "translate")

#: The defaults of kube-controller-manager where those of ``kinformer manager`` differ.
_DEFAULTS: Final = {
    "leader-elect": "true",
    "leader-elect-resource-name": "kube-controller-manager",
    "secure-port": "10257",
    "shutdown-grace": "10s",
}
_RENAMED: Final = {"controller-shutdown-timeout": "shutdown-grace"}
#: With this gate, the control plane chooses the leader. ``kinformer manager`` has a flag for it.
_COORDINATED: Final = "CoordinatedLeaderElection"


@dataclass(eq=False, slots=True)
class Translation:
    """
    A command line of kube-controller-manager, translated.

    :ivar arguments: the arguments for ``kinformer manager``
    :ivar accounts: the service accounts of controllers; empty if all use the manager's credentials
    :ivar ignored: the flags and gates without effect, each with the reason
    :ivar missing: the controllers that were asked for and are not installed
    """

    arguments: list[str] = field(default_factory=list)
    accounts: dict[str, str] = field(default_factory=dict)
    ignored: dict[str, str] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)


def translate(given: Mapping[str, str], here: Sequence[str], builtin: Sequence[str]) -> Translation:
    """
    Translate flags.

    :param given: their values, as :func:`~kinformer_controllers.kubecontrollermanager.parsing.parse_flags` gives them
    :param here: the names of the flags of ``kinformer manager``
    :param builtin: the names of the controllers that are installed
    :raises OptionError: if a flag or its value is refused
    :raises UnknownControllerError: if ``--controllers`` has an unknown name
    """
    made = Translation()
    settings = dict(_DEFAULTS)
    selection, made.missing = selection_of(given.get("controllers", "*"), builtin)
    settings["controllers"] = ",".join(selection)
    for name, value in given.items():
        flag = FLAGS[name]
        match flag.effect:
            case Effect.REFUSED if value != flag.default and not _is_allowed(name, value):
                raise OptionError(f"--{name} is not supported: {flag.why}")
            case Effect.REFUSED:
                pass
            case Effect.NONE:
                made.ignored[f"--{name}"] = flag.why
            case Effect.CONTROLLER if name not in here:
                made.ignored[f"--{name}"] = "its controller is not here."
            case _ if name == "feature-gates":
                passed, others = split_gates(value)
                if passed:
                    settings[name] = passed
                if others.pop(_COORDINATED, False):
                    settings["leader-elect-coordinated"] = "true"
                made.ignored |= {f"feature gate {gate}": "no controller here asks for it." for gate in others}
            case _ if name == "use-service-account-credentials":
                if value == "true":
                    made.accounts = {name: account for name, account in ACCOUNTS.items() if account is not None}
            case _ if name in _CHECKED:
                _CHECKED[name](value)
            case _ if name != "controllers" and (value or flag.kind is Kind.LIST):
                settings[_RENAMED.get(name, name)] = value
    made.arguments = [f"--{name}={value}" for name, value in settings.items()]
    return made


def _is_allowed(name: str, value: str) -> bool:
    return name == "emulated-version" and value.removeprefix("kube=") == VERSION


def _check_allocator(value: str) -> None:
    if value not in ("", "RangeAllocator"):
        raise OptionError(f"--cidr-allocator-type is {value!r}: want RangeAllocator. 1.36 has no other one")


def _check_cloud(value: str) -> None:
    if value not in ("", "external"):
        raise OptionError(f"--cloud-provider is {value!r}: want external or nothing. 1.36 has no built-in clouds")


#: Flags that accept only some values, as in kube-controller-manager. They are checked, and not passed on.
_CHECKED: Final = {"cidr-allocator-type": _check_allocator, "cloud-provider": _check_cloud}
