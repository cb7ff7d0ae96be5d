"""The node lifecycle controller: checks which nodes are alive, and taints those that are not."""
