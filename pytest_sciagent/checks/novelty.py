"""Criterion 5.2 (TruthInsightBench, novelty): a claim against the publications of a frozen snapshot, atom by atom.

Five atoms, 0.2 each. A publication that states or contains the claim: 0. Else, with the largest overlap below one half:
1. Else 0.5 if the finding adds an atom of substance to the closest publication, and 0 if it does not. Without a
snapshot, or where nothing in it is to the point, the criterion is not assessed: an empty search is no novelty.
"""

from __future__ import annotations

from pydantic import JsonValue

from ..evidence.citations import comparable
from ..models import Citation
from ..models.novelty import ATOMS, Candidate
from ..models.prior_art import Hit
from .base import CheckContext, CheckResult, decided, not_assessed, waiting

ATOM_WEIGHT = 0.2
NEAR = 0.5


def frozen_search_prior_art(context: CheckContext) -> CheckResult:
    """5.2: the level by the stated rule, from a recorded comparison whose quotes code has found."""
    if context.task is None:
        return not_assessed(
            "the task of the run is not known (--sciagent-tasks), so there is no literature snapshot", "task_unknown"
        )
    if context.task.prior_art is None:
        return not_assessed("the task has no frozen literature snapshot (hidden/prior_art.yaml)", "no_snapshot")
    hits = {hit.id: hit for hit in context.task.earlier_hits}
    if not hits:
        return not_assessed("the snapshot holds no publication that is certainly from before the cut-off", "no_hits")
    if context.novelty is None:
        return waiting("the comparison with earlier publications is not recorded")
    candidates = [c for c in context.novelty.candidates if c.relevant]
    if not candidates:
        return not_assessed("no publication of the snapshot has to do with the claim", "irrelevant_hits")
    return _level(context, [(c, *_checked(c, hits[c.id])) for c in candidates if c.id in hits], len(hits))


def _checked(candidate: Candidate, hit: Hit) -> tuple[tuple[str, ...], bool]:
    """The atoms whose quotes stand in the publication's title or text, and whether it really contains the claim."""
    text = comparable(f"{hit.title}\n{hit.abstract}")

    def stands(quote: str | None) -> bool:
        return quote is not None and len(comparable(quote)) >= 4 and comparable(quote) in text

    shared = tuple(name for name, atom in candidate.atoms().items() if atom.match and stands(atom.quote))
    return shared, candidate.contains and stands(candidate.contains_quote)


def _level(context: CheckContext, compared: list[tuple[Candidate, tuple[str, ...], bool]], pool: int) -> CheckResult:
    def new(candidate: Candidate) -> list[str]:
        return [name for name, atom in candidate.atoms().items() if atom.substantive_new]

    # The closest first: containment, then overlap, then the fewest new atoms, then the id.
    compared.sort(key=lambda c: (not c[2], -len(c[1]), len(new(c[0])), c[0].id))
    closest, shared, contains = compared[0]
    overlap = len(shared) * ATOM_WEIGHT
    facts: dict[str, JsonValue] = {
        "publications_compared": pool,
        "closest": closest.id,
        "shared_atoms": list(shared),
        "overlap": round(overlap, 1),
        "contains_claim": contains,
        "new_atoms": list[JsonValue](new(closest)),
        "atoms": list(ATOMS),
    }
    assert context.finding is not None
    heading = context.finding.section.text.strip().splitlines()[0]
    cited = (Citation(file=context.run.manifest.report or "", quote=heading),)
    if contains:
        return decided(0.0, f"publication {closest.id} states the claim already", "contained", facts, cited)
    if overlap < NEAR:
        return decided(
            1.0, f"the closest publication, {closest.id}, shares {len(shared)} of 5 atoms", "new", facts, cited
        )
    if new(closest):
        names = ", ".join(new(closest))
        return decided(0.5, f"{closest.id} shares {len(shared)} of 5 atoms; new: {names}", "partly_new", facts, cited)
    return decided(
        0.0, f"{closest.id} shares {len(shared)} of 5 atoms and nothing of substance is new", "known", facts, cited
    )
