"""The Deployment controller, as kube-controller-manager has it."""
