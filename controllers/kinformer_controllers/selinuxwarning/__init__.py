"""Warnings of pods that share a volume and want it with different SELinux labels."""
