"""The endpoints controller, as in kube-controller-manager: it keeps the Endpoints of services."""
