"""The demo: a gateway and five workers on loopback, shown by `make run` and toured by `make demo`."""
