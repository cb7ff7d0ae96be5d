"""The controllers of Kubernetes' kube-controller-manager, each a package of its own."""
