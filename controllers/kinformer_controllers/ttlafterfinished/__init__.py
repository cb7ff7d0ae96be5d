"""The ttl-after-finished controller, as kube-controller-manager has it."""
