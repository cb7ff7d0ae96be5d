"""The mirroring of Endpoints, as in kube-controller-manager: it makes EndpointSlices of Endpoints that users write."""
