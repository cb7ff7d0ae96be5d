"""The root CA publisher, as in kube-controller-manager: the ConfigMap ``kube-root-ca.crt`` in every namespace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinformer.options import Deferred
from kinformer_controllers.rootcacertpublisher.options import RootCAOptions
from kinformer_controllers.rootcacertpublisher.permissions import PERMISSIONS

if TYPE_CHECKING:
    from kinformer.manager import Runnable

__all__ = ("make_controller",)

make_controller: Deferred[Runnable] = Deferred(
    "kinformer_controllers.rootcacertpublisher.controller:make_controller", RootCAOptions, permissions=PERMISSIONS
)
