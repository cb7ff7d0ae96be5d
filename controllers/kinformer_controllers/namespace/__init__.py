"""The namespace controller, as kube-controller-manager has it."""
