"""Feature gates: switches of kube-controller-manager 1.36 for features that are not finished, or may be switched off.

In: the value of ``--feature-gates``. Out: whether a feature is on. Only the gates that a controller here asks for are
known; any other name is refused, so that nobody believes that it has an effect.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from kinformer.manager import ControllerDisabled
from kinformer.options import OptionError

__all__ = ("GATES", "Gate", "Gates")


class Gate(NamedTuple):
    """
    One gate.

    :param default: whether it is on in Kubernetes 1.36
    :param stage: ``ALPHA``, ``BETA`` or ``GA``
    :param needs: the gate without which it cannot be on; empty if there is none
    """

    default: bool
    stage: str
    needs: str = ""


GATES: Final[Mapping[str, Gate]] = {
    "APIServerIdentity": Gate(True, "BETA"),
    "ClusterTrustBundle": Gate(False, "BETA"),
    "DRADeviceTaintRules": Gate(False, "BETA", "DRADeviceTaints"),
    "DRADeviceTaints": Gate(True, "BETA"),
    "DRAPrioritizedList": Gate(True, "GA"),
    "DRAResourcePoolStatus": Gate(False, "ALPHA"),
    "DRAWorkloadResourceClaims": Gate(False, "ALPHA", "GenericWorkload"),
    "GenericWorkload": Gate(False, "ALPHA"),
    "HPAConfigurableTolerance": Gate(True, "BETA"),
    "HPAScaleToZero": Gate(False, "ALPHA"),
    "InformerResourceVersion": Gate(True, "GA"),
    "PodCertificateRequest": Gate(False, "BETA"),
    "StorageVersionAPI": Gate(False, "ALPHA", "APIServerIdentity"),
    "StorageVersionMigrator": Gate(False, "BETA"),
}
#: These switch on or off all gates of a stage that are not given themselves.
_ALL: Final = {"AllAlpha": "ALPHA", "AllBeta": "BETA"}


class Gates:
    """
    The gates of one process.

    :param text: ``NAME=true,NAME=false``, as the flag has it
    :raises OptionError: if a name is not known, a value is neither true nor false, or a gate is on and the one that it
        needs is not
    """

    def __init__(self, text: str = "") -> None:
        self._given: dict[str, bool] = {}
        for entry in filter(None, (part.strip() for part in text.split(","))):
            name, equals, value = (part.strip() for part in entry.partition("="))
            if not equals or value.lower() not in ("true", "false"):
                raise OptionError(f"--feature-gates has {entry!r}: want NAME=true or NAME=false")
            if name not in GATES and name not in _ALL:
                raise OptionError(f"--feature-gates has {name!r}: want one of {', '.join([*_ALL, *GATES])}")
            self._given[name] = value.lower() == "true"
        for name, gate in GATES.items():
            if gate.needs and self.is_on(name) and not self.is_on(gate.needs):
                raise OptionError(f"--feature-gates has {name} on and {gate.needs} off: want both on, or {name} off")

    def is_on(self, name: str) -> bool:
        """Whether a feature is on. `name` is one of :data:`GATES`."""
        gate = GATES[name]
        if name in self._given:
            return self._given[name]
        for word, stage in _ALL.items():
            if stage == gate.stage and word in self._given:
                return self._given[word]
        return gate.default

    def require(self, *names: str) -> None:
        """
        For the factory of a controller that Kubernetes has behind these gates.

        :raises ControllerDisabled: if one of them is off
        """
        for name in names:
            if not self.is_on(name):
                raise ControllerDisabled(f"the feature gate {name} is off")
