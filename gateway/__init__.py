"""The gateway: routes, verifies, ejects."""
