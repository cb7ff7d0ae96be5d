"""The storage version migrator, as kube-controller-manager has it. Three controllers do the steps of a migration:

=====================  ===============================================================================
:mod:`.running`        says which migration of a resource runs, and marks its CustomResourceDefinition
:mod:`.versions`       notes which version the resource has by then
:mod:`.migrating`      has the server write the objects up to that version anew
=====================  ===============================================================================
"""

from __future__ import annotations

from kinformer.manager import ControllerContext, Group
from kinformer_controllers.shared.gates import Gates
from kinformer_controllers.shared.options import GateOptions
from kinformer_controllers.storageversionmigrator.migrating import Migrator, ResourceVersions
from kinformer_controllers.storageversionmigrator.running import MigrationRunner

__all__ = ("make_controller",)


def make_controller(context: ControllerContext) -> Group:
    """
    The factory of ``storage-version-migrator-controller``.

    :raises ControllerDisabled: if the feature gate StorageVersionMigrator or InformerResourceVersion is off
    """
    Gates(context.read(GateOptions).feature_gates).require("StorageVersionMigrator", "InformerResourceVersion")
    parts = (Migrator(context), ResourceVersions(context), MigrationRunner(context))
    return Group(*(part.controller for part in parts))
