"""The protection of volumes, as in kube-controller-manager: a bound volume is not deleted."""
