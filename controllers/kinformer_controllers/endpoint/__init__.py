"""The endpoints controller, as kube-controller-manager has it: Endpoints follow services and pods."""

from __future__ import annotations

from kinformer_controllers.endpoint.controller import EndpointController, make_controller

__all__ = ("EndpointController", "make_controller")
