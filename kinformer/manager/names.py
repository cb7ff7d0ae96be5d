"""The names of controllers: a controller may have several, and users may write any of them in flags and files.

kube-controller-manager's controllers have a long name each, and most have an older short one. Both stand in the spec of
the controller (:class:`~kinformer.spec.ControllerSpec`). Names are compared by :func:`long_name`, so that they mean the
same controller.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping

from kinformer.installed import installed
from kinformer.options import CONTROLLERS
from kinformer.spec import ControllerSpec

__all__ = ("find_name", "long_name")


def long_name(name: str) -> str:
    """The name in full of an installed controller. Any other name is returned as it is."""
    return _names().get(name, name)


def find_name(name: str, known: Iterable[str]) -> str | None:
    """
    Find a controller among the `known` names.

    An exact match comes before a match of an alias: another package may call its own controller ``service``.

    :return: the known name; None if the controller is not known
    """
    known = list(known)
    if name in known:
        return name
    wanted = long_name(name)
    return next((one for one in known if long_name(one) == wanted), None)


@functools.cache
def _names() -> Mapping[str, str]:
    """The name in full of each installed controller, by its entry point and its aliases."""
    names: dict[str, str] = {}
    for entry in installed(CONTROLLERS):
        try:
            spec = entry.load()
        except (Exception, SystemExit):  # importing runs code of other packages
            continue
        if isinstance(spec, ControllerSpec):
            for alias in (entry.name, *spec.aliases):
                names.setdefault(alias, spec.name)
    return names
