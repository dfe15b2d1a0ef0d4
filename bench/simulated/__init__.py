"""A fleet of gateways on a clock and a Consul that are simulated; what decides is the gateway's own code."""
