"""Finding the cloud that ``--cloud-provider`` names, once a process."""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points
from typing import Any, Final

from kinformer.manager import ControllerDisabled
from kinformer.options import OptionError
from kinformer_controllers.shared.cloud.fake import FakeCloud
from kinformer_controllers.shared.cloud.interface import CloudProvider

__all__ = ("cloud_named",)

GROUP: Final = "kinformer.cloud_providers"
#: The cloud of tests, which needs no package.
FAKE: Final = "fake"


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
