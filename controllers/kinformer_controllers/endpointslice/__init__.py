"""The endpoint slice controller, as in kube-controller-manager: it keeps the EndpointSlices of services."""
