"""The words of the house as types. No input or output happens here."""

from __future__ import annotations

from .base import Model
from .finding import Finding, Mention, Section
from .labels import Label, Rater
from .rubric import CANARY, Criterion, Dimension, Levels, Rubric
from .run import FileEntry, Inputs, Role, RunManifest, Session, Stage, System, Usage
from .task import Card, DataFile, Feasibility, Quantity, Reference, Source, TaskManifest, Tolerance, Variable
from .verdict import (
    GAPS,
    LEVELS,
    Anchors,
    Citation,
    JudgeIdentity,
    JudgeUsage,
    LedgerEntry,
    LedgerFile,
    QuestionKind,
    Receipt,
    Status,
    Verdict,
    Vote,
)

__all__ = [
    "CANARY",
    "GAPS",
    "LEVELS",
    "Anchors",
    "Card",
    "Citation",
    "Criterion",
    "DataFile",
    "Dimension",
    "Feasibility",
    "FileEntry",
    "Finding",
    "Inputs",
    "JudgeIdentity",
    "JudgeUsage",
    "Label",
    "LedgerEntry",
    "LedgerFile",
    "Levels",
    "Mention",
    "Model",
    "Quantity",
    "QuestionKind",
    "Rater",
    "Receipt",
    "Reference",
    "Role",
    "Rubric",
    "RunManifest",
    "Section",
    "Session",
    "Source",
    "Stage",
    "Status",
    "System",
    "TaskManifest",
    "Tolerance",
    "Usage",
    "Variable",
    "Verdict",
    "Vote",
]
