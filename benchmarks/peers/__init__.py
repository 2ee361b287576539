"""The fan-out's contenders: nodes to work on, tools to install, programs, measuring, tables."""
