"""The service load balancer controller, as Kubernetes' cloud-controller-manager has it."""
