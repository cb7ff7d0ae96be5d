"""What the server serves: resources by group and version, and custom ones as they are defined."""

from __future__ import annotations

from kinformer.envtest.registry.resources import Registry, Resource, Subresource

__all__ = ("Registry", "Resource", "Subresource")
