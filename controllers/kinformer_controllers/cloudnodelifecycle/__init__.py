"""The cloud node lifecycle controller, as Kubernetes' cloud-controller-manager has it."""
