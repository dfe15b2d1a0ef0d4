"""The proxies that are measured, ours among them."""
