"""A whole cluster on one machine: SSH nodes, a real conda, a channel; also used by the tests."""
