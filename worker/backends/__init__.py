"""What computes: one file per kind of bundle. Only here are model libraries imported."""
