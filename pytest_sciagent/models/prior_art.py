"""`hidden/prior_art.yaml` (schema sciagent-prior-art/1): a frozen literature snapshot, for the novelty criterion."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from .base import Date, Model, Name, NonEmpty


class Query(Model):
    """One literature search: its words, where and when it was made, and whether it came through."""

    text: NonEmpty
    provider: NonEmpty
    made_at: Date
    complete: bool = True


class Hit(Model):
    """One publication. `abstract` may be a summary in other words, and then says so in `abstract_kind`.

    date: of publication, as exact as it is known; only a whole date (YYYY-MM-DD) can count as before the cut-off.
    """

    id: Name
    title: NonEmpty
    abstract: str = ""
    abstract_kind: Literal["abstract", "summary", "none"] = "abstract"
    date: str | None = Field(None, pattern=r"^\d{4}(-\d{2}(-\d{2})?)?$")
    doi: str | None = None
    authors: tuple[str, ...] = ()


class PriorArt(Model):
    """The snapshot: how it was made, its queries and its hits."""

    schema_: Literal["sciagent-prior-art/1"] = Field(alias="schema")
    made_by: NonEmpty
    queries: tuple[Query, ...] = ()
    hits: tuple[Hit, ...] = ()
