"""The endpoint slice controller, as kube-controller-manager has it: EndpointSlices follow services and pods."""

from __future__ import annotations

from kinformer_controllers.endpointslice.controller import EndpointSliceController, make_controller

__all__ = ("EndpointSliceController", "make_controller")
