"""Documents and instances out of Consul. Nothing outside this package knows how Consul is asked."""
