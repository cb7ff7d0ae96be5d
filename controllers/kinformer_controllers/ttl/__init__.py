"""The TTL controller: writes on each node how long its kubelet may cache Secrets and ConfigMaps."""
