"""What must not crash or hang the embedded API server: each attack is made on one in a process of its own."""
