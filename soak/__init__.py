"""Load and faults against the whole program: `make soak`."""
