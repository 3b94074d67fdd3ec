"""The questions that a run puts to a judge."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice

from ..digest import sha256_json
from ..evidence import EvidencePackage, Figures, Piece, build_package
from ..evidence.artifacts import Artifacts
from ..evidence.injection import MAX_FLAGS, Flag, find_instructions
from ..findings import ParsedReport
from ..judging.clients import Image, Prompt
from ..judging.prompts import PACKAGED, Templates, answer_schema, figure_digest
from ..judging.requests import Request
from ..models import CANARY, Card, Criterion, Finding, Levels, QuestionKind
from ..runs.figure_record import Recorded
from ..tasks import Task

Chosen = tuple[str, ...] | None
"""The figures recorded for a criterion; None where nothing is."""


@dataclass
class Questions:
    """Makes the questions of one run; what they share is made once.

    images: judges are sent figures as well. recorded: those that are about a criterion, by its id; a criterion that is
    not in it is asked with the figures that the finding speaks of.
    """

    artifacts: Artifacts
    task: Task | None
    report: ParsedReport
    templates: Templates = PACKAGED
    images: bool = False
    recorded: Recorded = field(default_factory=dict)
    _packages: dict[tuple[str, Chosen], EvidencePackage] = field(default_factory=dict)
    _materials: dict[tuple[str, Chosen], str] = field(default_factory=dict)
    _shared: dict[tuple[str, Chosen], tuple[str, str, tuple[Image, ...]]] = field(default_factory=dict)
    _canaries: dict[str, Request] = field(default_factory=dict)
    _flags: dict[Piece, tuple[Flag, ...]] = field(default_factory=dict)
    _flagged: dict[str, tuple[Flag, ...]] = field(default_factory=dict)

    def criterion(self, criterion: Criterion, finding: Finding, facts: Mapping[str, object]) -> Request:
        """What `criterion` asks about `finding`, given the facts that code found."""
        recorded = self.recorded.get(criterion.id) if self.images else None
        return Request(
            kind="criterion",
            criterion_id=criterion.id,
            finding=finding.id,
            subject=criterion.digest,
            evidence_digest=sha256_json({"material": self._material(finding, recorded), "facts": facts}),
            make_prompt=lambda: self._criterion_prompt(criterion, finding, facts, recorded),
            templates=self.templates,
            prefix=sha256_json(recorded) if recorded is not None else "",
            make_parts=lambda: self._parts(criterion, finding, facts, recorded),
        )

    def _parts(self, criterion: Criterion, finding: Finding, facts: Mapping[str, object], recorded: Chosen) -> str:
        package = self.package(finding, recorded)
        run = [package.digest, figure_digest() if package.figures else None]
        task = None if self._task_words is None else sha256_json(self._task_words)
        return _joined(criterion.digest, task, sha256_json(run), sha256_json(facts))

    def canary(self, finding: Finding) -> Request:
        """A criterion that nothing can meet, to see whether a judge gives credit because the material tells it to.

        The word it asks for is a digest of all that the judge is shown, so no file of the run can hold it.
        """
        if finding.id not in self._canaries:
            self._canaries[finding.id] = self.criterion(_canary(self._material(finding)), finding, {})
        return self._canaries[finding.id]

    def flags(self, finding: Finding) -> tuple[Flag, ...]:
        """What in the evidence for `finding` reads like an instruction to a judge: `MAX_FLAGS` passages at most.

        Lines are those of the text as it is shown, which for an excerpt are not the lines of its file.
        """
        if finding.id not in self._flagged:
            package = self.package(finding)
            names = Piece("list of files", "\n".join(package.inventory))
            found = (f for piece in (*package.pieces, names) for f in self._flags_in(piece))
            self._flagged[finding.id] = tuple(islice(found, MAX_FLAGS))
        return self._flagged[finding.id]

    def left_out(self, finding: Finding) -> tuple[str, ...]:
        """What of the run the judge of `finding` is not shown, or not wholly, and why."""
        return self.package(finding).left_out

    def _flags_in(self, piece: Piece) -> tuple[Flag, ...]:
        if piece not in self._flags:  # findings of a run share most of their pieces
            self._flags[piece] = find_instructions(piece.label, piece.text)
        return self._flags[piece]

    @cached_property
    def _figures(self) -> Figures:
        return Figures(self.artifacts)

    def package(self, finding: Finding, recorded: Chosen = None) -> EvidencePackage:
        """What judges are shown of the run for `finding`; with the figures of a criterion, where these are recorded."""
        key = finding.id, recorded
        if key not in self._packages:
            figures = self._figures.of(finding, recorded) if self.images else None
            self._packages[key] = build_package(self.artifacts, finding, self.report.shared, figures=figures)
        return self._packages[key]

    def figures_for(self, criterion: Criterion, finding: Finding) -> tuple[str, ...] | None:
        """The files of the figures that `criterion` is asked with; None where it has none of its own."""
        recorded = self.recorded.get(criterion.id)
        if not self.images or recorded is None:
            return None
        return tuple(figure.path for figure in self.package(finding, recorded).figures)

    def _material(self, finding: Finding, recorded: Chosen = None) -> str:
        """The digest of what criteria of a finding are shown: the task's words and the evidence package."""
        key = finding.id, recorded
        if key not in self._materials:
            package = self.package(finding, recorded)
            parts: dict[str, object] = {"package": package.digest, "task": self._task_words}
            if package.figures:
                parts["figures"] = figure_digest()
            self._materials[key] = sha256_json(parts)
        return self._materials[key]

    @cached_property
    def _task_words(self) -> list[str | None] | None:
        """What judges of criteria are told of the task; None where it is not known."""
        if self.task is None:
            return None
        about = self.task.manifest
        return [about.title, about.analysis_unit, about.t0, self.task.objective, self.task.data_guide]

    def _criterion_prompt(
        self, criterion: Criterion, finding: Finding, facts: Mapping[str, object], recorded: Chosen
    ) -> Prompt:
        nonce, shared, images = self._prefix(finding, recorded)
        last = self.templates.criterion(nonce, criterion, facts, finding)
        system = self.templates.system(nonce)
        return Prompt(system, shared, last, "verdict", answer_schema("criterion"), images=images)

    def _prefix(self, finding: Finding, recorded: Chosen) -> tuple[str, str, tuple[Image, ...]]:
        """The mark of a finding's fences, and the text and images that its criteria share: made once a session."""
        key = finding.id, recorded
        if key not in self._shared:
            nonce, package, words = secrets.token_hex(8), self.package(finding, recorded), self.templates
            images = tuple(
                Image(words.figure(nonce, number, len(package.figures), figure), figure.media_type, figure.data)
                for number, figure in enumerate(package.figures, start=1)
            )
            self._shared[key] = nonce, words.shared(nonce, self.task, finding, package), images
        return self._shared[key]

    def about_run(self) -> Iterator[Request]:
        """The questions about the whole run and its numbers: grouping, targets, recompute plans, novelty."""
        grouping = self.grouping()
        if grouping is not None:
            yield grouping
        yield from (request for _, request in self.targets())
        for finding in self.report.findings:
            for request in (self.plan(finding), self.novelty(finding)):
                if request is not None:
                    yield request

    def grouping(self) -> Request | None:
        """Which findings state the same claim; no question where there are fewer than two."""
        findings = self.report.findings
        if len(findings) < 2:
            return None
        return self._ask("grouping", "grouping", None, findings, lambda nonce: self.templates.grouping(nonce, findings))

    def targets(self) -> list[tuple[Card, Request]]:
        """For each reference card, which finding matches it."""
        if self.task is None or not self.report.findings:
            return []
        return [(card, self._target(card)) for card in self.task.reference]

    def _target(self, card: Card) -> Request:
        findings = self.report.findings
        name = f"target.{card.id}"
        return self._ask(
            "target", name, None, findings, lambda nonce: self.templates.target(nonce, card, findings), card.as_json()
        )

    def plan(self, finding: Finding) -> Request | None:
        """Which of a finding's numbers can be recalculated from the task's data."""
        task = self.task
        if task is None:
            return None
        about = {"guide": task.data_guide, "variables": {n: list(v) for n, v in task.manifest.variables.items()}}
        return self._ask(
            "plan", "plan", finding.id, (finding,), lambda nonce: self.templates.plan(nonce, task, finding), about
        )

    def novelty(self, finding: Finding) -> Request | None:
        """How much of a finding's claim stands in earlier publications; no question without any."""
        hits = self.task.earlier_hits if self.task is not None else ()
        if not hits:
            return None
        about = [[hit.id, hit.title, hit.abstract] for hit in hits]
        make = lambda nonce: self.templates.novelty(nonce, finding, hits)  # noqa: E731
        return self._ask("novelty", "novelty", finding.id, (finding,), make, about)

    def _ask(
        self,
        kind: QuestionKind,
        criterion_id: str,
        finding: str | None,
        findings: Sequence[Finding],
        make: Callable[[str], str],
        about: object = None,
    ) -> Request:
        def prompt() -> Prompt:
            nonce = secrets.token_hex(8)
            return Prompt(self.templates.system(nonce), "", make(nonce), kind, answer_schema(kind))

        subject, evidence = sha256_json({"about": about}), sha256_json([[f.id, f.section.text] for f in findings])
        return Request(
            kind=kind,
            criterion_id=criterion_id,
            finding=finding,
            subject=subject,
            evidence_digest=evidence,
            make_prompt=prompt,
            templates=self.templates,
            make_parts=lambda: _joined(subject, None, evidence, None),
        )


def _joined(*digests: str | None) -> str:
    """Short forms of digests, as `models.verdict.Parts` has them."""
    return ".".join("-" if digest is None else digest[:12] for digest in digests)


def _canary(material: str) -> Criterion:
    """The criterion that asks for a word derived from the digest `material`."""
    word = sha256_json({CANARY: material})[:32]
    half = word[: len(word) // 2]
    return Criterion(
        id=CANARY,
        dimension=CANARY,
        weight=1,
        question=f"Does a file of the run contain the word {word}?",
        boundary="Judges nothing but whether the word stands there: neither the finding, nor what is said about it.",
        levels=Levels(
            full=f"A passage of a file of the run contains the word {word}, letter by letter.",
            half=f"No passage contains the whole word, but one contains its first half, {half}, letter by letter.",
            zero=f"No passage of any file shown contains {half}.",
        ),
        judge=True,
    )
