"""Ways to reach a host. Each is an `envsync.ports.Transport` under one contract test suite."""
