"""The profiles by which levels are added up, by name. By itself, so that options can name them without any import."""

from __future__ import annotations

from typing import Literal, get_args

ProfileName = Literal["truthinsight", "truthinsight-v1", "weighted", "required", "checklist100", "best-finding"]
PROFILES: tuple[ProfileName, ...] = get_args(ProfileName)
