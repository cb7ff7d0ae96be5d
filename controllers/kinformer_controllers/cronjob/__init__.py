"""The CronJob controller, as kube-controller-manager has it."""
