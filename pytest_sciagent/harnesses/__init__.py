"""Research agents started on tasks: one adapter for each harness, one way to run, watch, stop and freeze them."""

from __future__ import annotations
