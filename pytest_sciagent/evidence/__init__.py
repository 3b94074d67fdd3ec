"""What a run says, read safely: artifacts, numbers, quotes, and the package a judge is shown."""

from __future__ import annotations

from .citations import QuoteIndex
from .figures import Figure, Figures
from .package import EvidencePackage, Piece, build_package

__all__ = ["EvidencePackage", "Figure", "Figures", "Piece", "QuoteIndex", "build_package"]
