"""The Job controller, as kube-controller-manager has it."""
