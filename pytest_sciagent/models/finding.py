"""A registered finding: its place in the report and the artifacts it names."""

from __future__ import annotations

from pydantic import Field

from .base import Model, Name


class Section(Model):
    """Lines `start` to `end` of the report (counted from 1, both included) under one heading."""

    title: str
    start: int = Field(ge=1)
    end: int = Field(ge=0)
    text: str


class Mention(Model):
    """An artifact that a finding names: as written, and the frozen files it means (paths of the run)."""

    text: str
    paths: tuple[str, ...] = ()


class Finding(Model):
    """A separately testable claim, registered under its own label in the report."""

    id: Name
    number: int = Field(ge=0)
    title: str
    section: Section
    mentions: tuple[Mention, ...] = ()

    @property
    def artifacts(self) -> tuple[str, ...]:
        """Paths of all frozen files this finding names, in order, each once."""
        return tuple(dict.fromkeys(path for mention in self.mentions for path in mention.paths))
