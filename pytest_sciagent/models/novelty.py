"""A claim compared with earlier publications, atom by atom."""

from __future__ import annotations

from .base import Model

ATOMS = ("object", "scope", "relation", "direction", "boundary")


class Atom(Model):
    """One atom of the claim against one publication: shared (with a quote), or new in a way that a test could see."""

    match: bool
    substantive_new: bool
    quote: str | None


class Candidate(Model):
    """One publication against the claim. `contains`: it states the same claim, or a wider one that includes it."""

    id: str
    relevant: bool
    contains: bool
    contains_quote: str | None
    object: Atom
    scope: Atom
    relation: Atom
    direction: Atom
    boundary: Atom

    def atoms(self) -> dict[str, Atom]:
        """The five atoms by name."""
        return {name: getattr(self, name) for name in ATOMS}


class NoveltyAnswer(Model):
    """What a judge says about a claim and every publication of the snapshot it was shown."""

    rationale: str
    candidates: tuple[Candidate, ...]
