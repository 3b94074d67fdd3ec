"""Runs become pytest items: options, index, nodes, protocol, scheduling."""
