"""Benchmarks: how fast informers are, and how much CPU time and memory they need.

All clients are measured the same way. A replay server runs in its own process. It sends the bytes that a
kube-apiserver would send, prepared in advance. The informer under test runs in another process, which measures its own
CPU time and memory.
"""
