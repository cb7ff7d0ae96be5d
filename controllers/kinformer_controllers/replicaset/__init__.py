"""The ReplicaSet controller, as kube-controller-manager has it."""
