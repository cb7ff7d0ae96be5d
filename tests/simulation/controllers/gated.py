"""What never happens while controllers of features that are off by default do their work."""

from __future__ import annotations

from typing import Any

from kinformer.simulation.world import World

__all__ = ("servers_are_known", "signer_has_a_bundle")


def servers_are_known(world: World) -> None:
    """Demand that a StorageVersion keeps the entry of an API server for as long as the server has its Lease."""
    seen: set[tuple[str, str]] = set()

    def entries_stay(state: Any) -> None:
        leases = {obj["metadata"]["name"] for obj in state.list("leases.coordination.k8s.io")}
        there = {
            (obj["metadata"]["name"], entry["apiServerID"])
            for obj in state.list("storageversions.internal.apiserver.k8s.io")
            for entry in obj.get("status", {}).get("storageVersions", ())
        }
        lost = {(name, server) for name, server in seen - there if server in leases}
        assert not lost, f"entries of servers that are there are gone: {lost}"
        known = {(name, server) for name, server in there if server in leases}
        seen.clear()
        seen.update(known)

    world.assert_always(entries_stay)


def signer_has_a_bundle(world: World) -> None:
    """Demand that a signer that had a ClusterTrustBundle always has one."""
    seen: set[str] = set()

    def bundles_stay(state: Any) -> None:
        bundles = state.list("clustertrustbundles.certificates.k8s.io")
        signers = {obj["spec"]["signerName"] for obj in bundles}
        assert seen <= signers, f"signers have no bundle: {seen - signers}"
        seen.update(signers)

    world.assert_always(bundles_stay)
