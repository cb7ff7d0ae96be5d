"""The storage version migrator: has the server write objects anew, in the version that it stores now."""
