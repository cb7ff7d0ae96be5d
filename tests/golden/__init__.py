"""Golden cases: what Kubernetes itself answered, and the runner that asks this project the same."""
