"""Custom resources: CustomResourceDefinitions, and the objects of the resources that they define."""

from __future__ import annotations

from kinformer.envtest.custom.definitions import Definitions, DefinitionStrategy
from kinformer.envtest.custom.strategy import CustomStrategy

__all__ = ("CustomStrategy", "DefinitionStrategy", "Definitions")
