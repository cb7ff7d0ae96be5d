"""EndpointSlices, as whoever makes them for a service names them."""

from __future__ import annotations

from kinformer.meta.validation import dns1123_subdomain_errors

__all__ = ("slice_name_prefix",)


def slice_name_prefix(service: str) -> str:
    """
    What the names of a service's EndpointSlices begin with: its name, with a dash where that leaves room for one.

    The server makes the rest up. The rule is that of Kubernetes' ``endpointslice`` library.
    """
    prefix = f"{service}-"
    return service if dns1123_subdomain_errors(f"{prefix[:-2]}a") else prefix
