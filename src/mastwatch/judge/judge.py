"""A run in, a report out: render → plan → ask → check → ask again where in doubt → vote."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace

from mastwatch.judge import prompt, vote
from mastwatch.judge.access import ModelAccess
from mastwatch.judge.answers import Answer, Question, total
from mastwatch.judge.budget import Budget
from mastwatch.judge.calibrate import UNCALIBRATED, Calibrations
from mastwatch.judge.client import ModelClient
from mastwatch.judge.evidence import Rows
from mastwatch.judge.examples import Examples
from mastwatch.judge.modes import JudgedMode, Taxonomy
from mastwatch.judge.modes import load as load_modes
from mastwatch.judge.questions import Questions
from mastwatch.judge.schema import Parsed
from mastwatch.judge.settings import JudgeSettings
from mastwatch.judge.windows import Window, coverage
from mastwatch.store import Limits, Report, Store, TaskWord, Trace, Usage, Verdict

EXTRA_VOTES = 2
"""How often a doubtful verdict is asked again."""


class Judge:
    """Judges runs with one model.

    Args:
        client: The model.
        settings: How.
        store: Counts daily limits and keeps answers; optional.
        examples: Judged runs to learn from; those of the settings' file by default.
        calibrations: What is known of how well judges agree with people; stamped into reports.
        limits: What all runs together may cost.

    Attributes:
        access: The model; attribution asks it through the same door.

    Raises:
        mastwatch.judge.modes.BadTaxonomy: The settings name modes that do not exist.
        mastwatch.judge.examples.BadExamples: The settings' file with examples cannot be used.
    """

    def __init__(
        self,
        client: ModelClient,
        settings: JudgeSettings,
        store: Store | None = None,
        *,
        examples: Examples | None = None,
        calibrations: Calibrations | None = None,
        limits: Limits | None = None,
    ) -> None:
        self._client = client
        self._settings = settings
        self.access = ModelAccess(client, settings, store, limits)
        self._examples = Examples.load(settings.examples) if examples is None else examples
        self._calibrations = calibrations
        self.taxonomy: Taxonomy = load_modes(settings.taxonomy, settings.modes)
        self.prompt_version = f"{prompt.PROMPT_VERSION}{self._examples.suffix}"
        self.thresholds = {**self._calibrated(), **settings.thresholds}
        self.learned = self.access.learned
        self.questions = Questions(self.taxonomy, settings, self._examples, self.learned)

    async def judge(self, trace: Trace, trigger: str = "asked") -> Report:
        """Judge a run; whatever the model or its server does, there is a verdict on every mode."""
        return await _Case(self, trace, trigger).report()

    def _calibrated(self) -> dict[str, float]:
        """Confidence by mode to which this judge is held; never below that of the settings."""
        if self._calibrations is None:
            return {}
        version = self.taxonomy.version
        found = self._calibrations.of(version, self.prompt_version, self._client.model)
        known = {} if found is None else found.thresholds
        return {slug: max(sure, self._settings.confidence) for slug, sure in known.items()}

    async def close(self) -> None:
        """Let go of the model's connections."""
        await self.access.close()


class _Case:
    """One run being judged."""

    def __init__(self, judge: Judge, trace: Trace, trigger: str) -> None:
        self._judge = judge
        self._settings = judge._settings
        self._trace = trace
        self._trigger = trigger
        self._modes = judge.taxonomy.modes
        self._rows = Rows(trace)
        self._counts = vote.Counts()
        self._budget = judge.access.budget()
        self._answers: list[Answer[Parsed]] = []
        self._seen: list[Window] = []
        self._detected = vote.detected(trace)

    async def report(self) -> Report:
        started = time.monotonic()
        nothing = _nothing_to_read(self._trace)
        if nothing:
            verdicts = {m.slug: vote.not_evaluated(m, nothing) for m in self._modes}
            return self._report([], [], verdicts, 0.0)
        windows = self._judge.questions.windows(self._trace)
        known = self._judge.learned.context
        answers = await self._first_look(windows)
        if any(answer.failure == "context_overflow" for answer in answers):
            if self._judge.learned.context == known:
                self._judge.questions.halve(windows)
            windows = self._judge.questions.windows(self._trace)
            answers = await self._first_look(windows)
        verdicts = {mode.slug: self._merge(mode, answers) for mode in self._modes}
        doubtful = [mode for mode in self._modes if self._again(verdicts[mode.slug])]
        if doubtful:
            for slug, votes in (await self._second_look(windows, doubtful, verdicts)).items():
                verdicts[slug] = vote.majority([verdicts[slug], *votes])
        return self._report(windows, answers, verdicts, time.monotonic() - started)

    # Asking.

    async def _first_look(self, windows: Sequence[Window]) -> list[Answer[Parsed]]:
        ask_about = self._judge.questions.question
        questions = [ask_about(self._trace, window, self._modes) for window in windows]
        answers = await asyncio.gather(*(self._ask(question) for question in questions))
        self._seen = [
            window for window, answer in zip(windows, answers, strict=True) if answer.parsed
        ]
        return list(answers)

    async def _second_look(
        self,
        windows: Sequence[Window],
        modes: Sequence[JudgedMode],
        verdicts: dict[str, Verdict],
    ) -> dict[str, list[Verdict]]:
        """Ask again about some modes, with what detectors saw, where in a long run it matters."""
        groups: dict[Window, list[JudgedMode]] = {}
        for mode in modes:
            window = windows[0]
            if len(windows) > 1:
                rows = self._rows_of_interest(mode, verdicts[mode.slug])
                window = self._judge.questions.around(self._trace, rows, windows[0])
            groups.setdefault(window, []).append(mode)
        questions = [
            self._judge.questions.question(self._trace, window, group, sample)
            for window, group in groups.items()
            for sample in range(1, EXTRA_VOTES + 1)
        ]
        answers = await asyncio.gather(*(self._ask(question) for question in questions))
        votes: dict[str, list[Verdict]] = {mode.slug: [] for mode in modes}
        for question, answer in zip(questions, answers, strict=True):
            for slug in question.form.about:
                mode = self._judge.taxonomy.mode(slug)
                votes[slug].append(self._verdict(mode, answer))
        return votes

    def _rows_of_interest(self, mode: JudgedMode, verdict: Verdict) -> list[int]:
        rows = [item.message_index for item in verdict.evidence]
        for finding in self._trace.findings:
            if finding.slug == mode.slug:
                rows += [*finding.evidence, finding.message_index]
        return rows or [row.index for row in self._trace.rows[-5:]]

    async def _ask(self, question: Question[Parsed]) -> Answer[Parsed]:
        answer = await self._judge.access.ask(question, self._budget)
        self._answers.append(answer)
        return answer

    # Verdicts.

    def _merge(self, mode: JudgedMode, answers: Sequence[Answer[Parsed]]) -> Verdict:
        verdicts = [self._verdict(mode, answer) for answer in answers]
        failure = next((v.reason for v in verdicts if v.verdict == "not_evaluated"), "")
        judged = [v for v in verdicts if v.verdict != "not_evaluated"]
        return vote.merged(mode, judged, failure)

    def _verdict(self, mode: JudgedMode, answer: Answer[Parsed]) -> Verdict:
        parsed = answer.parsed
        if parsed is None:
            return vote.not_evaluated(mode, answer.failure or "provider_error")
        opinion = parsed.opinions.get(mode.slug)
        if opinion is None:
            return vote.not_evaluated(
                mode, "schema" if mode.slug in parsed.malformed else "missing"
            )
        return vote.checked(mode, opinion, self._rows, self._trace, self._counts)

    def _again(self, verdict: Verdict) -> bool:
        if self._settings.profile == "fast":
            return False
        if self._settings.profile == "deep":
            return verdict.verdict != "not_evaluated"
        threshold = self._judge.thresholds.get(verdict.slug, self._settings.confidence)
        return vote.in_doubt(verdict, threshold, self._detected)

    # The report.

    def _report(
        self,
        windows: Sequence[Window],
        answers: Sequence[Answer[Parsed]],
        verdicts: dict[str, Verdict],
        seconds: float,
    ) -> Report:
        usage = replace(total([a.usage for a in self._answers]), seconds=seconds)
        client = self._judge._client
        answered = [answer for answer in self._answers if answer.parsed is not None]
        model = next((a.model for a in answered if a.model), client.model)
        taxonomy, version = self._judge.taxonomy.version, self._judge.prompt_version
        stamps = self._judge._calibrations
        return Report(
            run_id=self._trace.run_id,
            verdicts={slug: self._with_detector(v) for slug, v in verdicts.items()},
            task_completed=_task(answers),
            coverage=coverage(self._trace, self._seen),
            taxonomy_version=taxonomy,
            prompt_version=version,
            model=model,
            provider=client.provider,
            profile=self._settings.profile,
            rung=answered[-1].rung if answered else "",
            windows=len(windows),
            evidence_counts=self._counts.as_dict(),
            ghosts=sum(a.parsed.ghosts for a in answered if a.parsed is not None),
            usage=_priced(usage, self._budget),
            calibration=UNCALIBRATED if stamps is None else stamps.stamp(taxonomy, version, model),
            trigger=self._trigger,
            created=time.time(),
            problems=tuple(dict.fromkeys(a.problem for a in self._answers if a.problem)),
        )

    def _with_detector(self, verdict: Verdict) -> Verdict:
        severity = self._detected.get(verdict.slug)
        return verdict if severity is None else replace(verdict, detector=severity.label)


def _nothing_to_read(trace: Trace) -> str:
    """Why there is no point in asking a model about a run, or an empty string."""
    if not trace.rows:
        return "no_rows"
    return "" if any(row.text or row.tool_calls for row in trace.rows) else "no_text"


def _priced(usage: Usage, budget: Budget) -> Usage:
    return usage if usage.usd is not None or not budget.priced else replace(usage, usd=0.0)


def _task(answers: Sequence[Answer[Parsed]]) -> TaskWord:
    """Whether the task was completed: the end of the run tells, so the last window decides."""
    parsed = answers[-1].parsed if answers else None
    return parsed.task_completed if parsed is not None else "not_evaluated"
