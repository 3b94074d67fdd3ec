"""A revision's record in words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ..models.results import Ends
from ..models.revision import RevisionRecord, RoundRecord, Standing
from ..reporting.columns import columns, number, paragraph, span
from ..text import clean

_SHOWN = 8


def told(record: RevisionRecord) -> Iterator[str]:
    """The record as lines for a terminal."""
    who = f"{record.system}{f' ({record.model})' if record.model else ''}"
    judge = record.examiner.judge.label if record.examiner.judge is not None else "code and recorded verdicts"
    yield f"REVISION of {record.run} by {who}, verified by {judge} under {', '.join(record.examiner.rubrics)}"
    rows: list[Sequence[str] | str] = [("round 0", *_counts(record.start), "")]
    rows += [(round_name(tried), *_counts(tried.standing), tried.outcome) for tried in record.tried]
    yield from columns(("", "satisfied", "failed", "not assessed", "score", "outcome"), rows)
    yield from paragraph(record.validity) if record.validity is not None else ()
    for tried in record.tried:
        yield from _details(tried)
    if record.stopped is not None:
        yield from paragraph(f"stopped: {record.stopped}. {record.why}")
    if record.stopped == "harness failed":
        yield from paragraph(
            f"to have that round tried again, remove its frozen run ({record.tried[-1].run} in the folder)"
        )
    yield from paragraph(f"the revised run is {record.last}")
    yield from _gain(record)


def round_name(tried: RoundRecord) -> str:
    """`round 2`, or `round 2, repair`."""
    return f"round {tried.number}{', repair' if tried.attempt == 'repair' else ''}"


def _counts(standing: Standing | None) -> tuple[str, str, str, str]:
    if standing is None:
        return ("-", "-", "-", "-")
    score = "-" if standing.score is None else span(standing.score.low, standing.score.high)
    return str(standing.satisfied), str(standing.failed), str(standing.not_assessed + standing.open), score


def _details(tried: RoundRecord) -> Iterator[str]:
    if tried.problem is not None:
        yield from paragraph(f"{round_name(tried)}: {clean(tried.problem)}")
    for what, places in (("raised", tried.gained), ("lost", tried.lost)):
        if places:
            more = f" and {len(places) - _SHOWN} more" if len(places) > _SHOWN else ""
            yield from paragraph(f"{round_name(tried)} {what}: {', '.join(places[:_SHOWN])}{more}")
    files = tried.files
    if files.added or files.changed or files.removed:
        counts = f"{len(files.added)} added, {len(files.changed)} changed, {len(files.removed)} removed"
        yield from paragraph(f"{round_name(tried)} files: {counts}")
    for claim in tried.claims:
        kind = "withdrawn, as it was unsupported" if claim.unsupported else claim.kind
        text = " -> ".join(clean(title) for title in (claim.before, claim.after) if title is not None)
        yield from paragraph(f"{round_name(tried)} claim {claim.finding} {kind}: {text}")
    used = [tokens for tokens in (tried.usage.input_tokens, tried.usage.output_tokens) if tokens is not None]
    if used:
        cost = "" if tried.usage.cost_usd is None else f", {number(tried.usage.cost_usd, 2)} USD"
        yield from paragraph(f"{round_name(tried)} used {sum(used):,} tokens{cost}")


def _gain(record: RevisionRecord) -> Iterator[str]:
    final = record.final
    if final is None:
        return
    judge = final.examiner.judge.label if final.examiner.judge is not None else "code and recorded verdicts"
    same = " - THE SAME as the loop's" if record.same_examiner and final.examiner == record.examiner else ""
    yield f"FINAL SCORE by {judge} under {', '.join(final.examiner.rubrics)}{same}"
    is_same = record.last == record.run
    gain = Ends(low=0, high=0) if is_same else gained(final.before, final.after)
    yield from paragraph(
        f"before {span(final.before.low, final.before.high)}, after {span(final.after.low, final.after.high)}, "
        f"gain {span(gain.low, gain.high)}"
    )
    yield from paragraph(final.validity) if final.validity is not None else ()
    if final.examiner.judge is not None and record.model is not None:
        yield from _kinship(record.model, final.examiner.judge.model)


def _kinship(author: str, judge: str) -> Iterator[str]:
    """What to bear in mind where judge and author are one model, or of one family as far as their names tell."""
    families = [re.split(r"[^a-z0-9]", name.casefold())[0] for name in (author, judge)]
    if author == judge:
        yield from paragraph("judge and author are the same model: such a judge may favour its own work")
    elif families[0] and families[0] == families[1]:
        yield from paragraph(
            f"judge and author are of one family by their names ({clean(author)}, {clean(judge)}): such a judge may "
            "favour its own kind"
        )


def gained(before: Ends, after: Ends) -> Ends:
    """The gain from `before` to `after`. What is open in both is taken to be open independently, so it may be wide."""
    return Ends(low=after.low - before.high, high=after.high - before.low)
