"""The ReplicationController controller, as kube-controller-manager has it."""
