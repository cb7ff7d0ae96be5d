"""kube-controller-manager's command line: a static pod's manifest starts this project's manager with it."""
