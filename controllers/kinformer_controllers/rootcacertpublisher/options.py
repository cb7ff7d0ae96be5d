"""The options of the root CA publisher."""

from __future__ import annotations

from dataclasses import dataclass

from kinformer_controllers.shared.options import root_ca_file

__all__ = ("RootCAOptions",)


@dataclass(frozen=True)
class RootCAOptions:
    root_ca_file: str = root_ca_file()
