"""The garbage collector of storage versions: forgets what API servers that are gone had said about their versions."""
