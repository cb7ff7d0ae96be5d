"""The ResourceQuota controller, as kube-controller-manager has it."""
