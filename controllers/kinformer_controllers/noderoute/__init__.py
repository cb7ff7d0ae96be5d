"""The node route controller, as in Kubernetes' cloud-controller-manager: it creates routes to the pods of each node."""
