"""Revision: what failed is told, the harness works again in a copy, and what comes out is verified again."""

from __future__ import annotations
