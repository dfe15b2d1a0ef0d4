"""Side-by-side benchmarks: the gateway beside other proxies, in one run, on this machine."""
