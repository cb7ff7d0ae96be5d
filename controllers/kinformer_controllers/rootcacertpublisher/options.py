"""What the root CA publisher can be told."""

from __future__ import annotations

from dataclasses import dataclass

from kinformer.options import option
from kinformer_controllers.shared.identity.root_ca import ROOT_CA_HELP

__all__ = ("RootCAOptions",)


@dataclass(frozen=True)
class RootCAOptions:
    root_ca_file: str = option("", ROOT_CA_HELP)
