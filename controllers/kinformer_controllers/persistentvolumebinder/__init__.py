"""The persistent volume binder, as in kube-controller-manager: it binds claims to volumes, and reclaims volumes."""
