"""How a frozen run lies on disk."""

from __future__ import annotations

MANIFEST = "run.json"
FROZEN_FOLDERS = ("output", "logs")
"""Everything an agent wrote lies below these."""
