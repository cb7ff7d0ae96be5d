"""The aggregation of ClusterRoles, as in kube-controller-manager: it fills a role with the rules of other roles."""
