"""Finding the cloud that ``--cloud-provider`` names, once a process."""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points
from typing import Any, Final

from kinformer.manager import ControllerDisabled
from kinformer.options import OptionError, option
from kinformer_controllers.shared.cloud.fake import FakeCloud
from kinformer_controllers.shared.cloud.interface import CloudProvider

__all__ = ("cloud_named", "cloud_provider", "cluster_name")

GROUP: Final = "kinformer.cloud_providers"
#: The cloud of tests, which needs no package.
FAKE: Final = "fake"


def cloud_provider() -> str:
    """The option that names the cloud."""
    return option("", "The cloud that the cluster runs in: a name that a package offers, or `fake`. Empty: no cloud.")


def cluster_name() -> str:
    """The option that tells this cluster apart from others in the same cloud."""
    return option("kubernetes", "What this cluster is called in the cloud.")


def cloud_named(name: str) -> CloudProvider:
    """
    The cloud of a name. All controllers of a process share one.

    :raises ControllerDisabled: if the name is empty
    :raises OptionError: if no package offers it
    """
    if not name:
        raise ControllerDisabled("--cloud-provider is not given")
    found: CloudProvider = _loaded(name)
    return found


@cache
def _loaded(name: str) -> Any:
    if name == FAKE:
        return FakeCloud()
    offered = {entry.name: entry for entry in entry_points(group=GROUP)}
    if name not in offered:
        known = ", ".join(sorted([*offered, FAKE]))
        raise OptionError(f"--cloud-provider is {name!r}: no package offers it; want one of {known}")
    return offered[name].load()()
