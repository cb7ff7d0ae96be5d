"""The resources that the server serves, by group and version. Custom resources come and go with their definitions."""

from __future__ import annotations

from kinformer.envtest.registry.resources import METADATA, Registry, Resource, Subresource

__all__ = ("METADATA", "Registry", "Resource", "Subresource")
