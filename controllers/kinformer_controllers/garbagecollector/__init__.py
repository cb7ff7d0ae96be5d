"""The garbage collector, as kube-controller-manager has it."""
