"""What the controllers of devices share: which claims pods and PodGroups use, and whose a claim is."""
