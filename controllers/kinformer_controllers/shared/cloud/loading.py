"""Finding the cloud that ``--cloud-provider`` names. It is made once in a process."""

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
#: The name of the cloud for tests. No other package has to be installed for it.
FAKE: Final = "fake"


def cloud_named(name: str) -> CloudProvider:
    """
    Return the cloud with that name. All controllers of a process share it.

    :raises ControllerDisabled: if the name is empty
    :raises OptionError: if no installed package offers a cloud with that name
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
