"""The names of objects that a controller makes for an owner."""

from __future__ import annotations

from kinformer.meta.validation import dns1123_subdomain_errors

__all__ = ("generated_name_prefix",)


def generated_name_prefix(owner: str) -> str:
    """
    Return the prefix for generated names, from which the server makes the full name.

    It is the owner's name with a dash, or without the dash if the prefix would then not be valid. Kubernetes has the
    same rule for pods and for EndpointSlices.

    :param owner: the owner's name
    """
    prefix = f"{owner}-"
    # The server replaces what follows the prefix. So the prefix is checked with a letter in place of the last two.
    return owner if dns1123_subdomain_errors(f"{prefix[:-2]}a") else prefix
