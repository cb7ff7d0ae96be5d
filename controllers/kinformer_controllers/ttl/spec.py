"""The TTL controller: writes on each node how long its kubelet may cache Secrets and ConfigMaps."""

from __future__ import annotations

from typing import Final

from kinformer.permissions import allow
from kinformer.spec import ControllerSpec

__all__ = ("SPEC",)


SPEC: Final = ControllerSpec(
    name="ttl-controller",
    aliases=("ttl",),
    summary="says how long kubelets may cache Secrets and ConfigMaps",
    factory="kinformer_controllers.ttl.controller:TtlController",
    permissions=(allow("list watch patch", "nodes"),),
    sharded_by="name",
    page="node-ipam.md#for-how-long-kubelets-may-keep-what-they-read",
)
