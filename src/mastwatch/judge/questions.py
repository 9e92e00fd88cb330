"""From a run to the questions that are asked about it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from mastwatch.judge import prompt
from mastwatch.judge.answers import Question
from mastwatch.judge.evidence import MIN_CHARS
from mastwatch.judge.examples import Examples
from mastwatch.judge.learned import Learned
from mastwatch.judge.modes import JudgedMode, Taxonomy
from mastwatch.judge.render import boundary
from mastwatch.judge.schema import Parsed
from mastwatch.judge.settings import JudgeSettings
from mastwatch.judge.verdicts import VerdictsForm
from mastwatch.judge.windows import Window, around, plan, tokens
from mastwatch.store import Trace

_LEAST_WINDOW = 1_000


class Questions:
    """Cuts runs into windows and words the questions.

    Args:
        taxonomy: What is asked about.
        settings: Context, language, profile.
        examples: Judged runs that are shown first.
        learned: Of the model.
    """

    def __init__(
        self, taxonomy: Taxonomy, settings: JudgeSettings, examples: Examples, learned: Learned
    ) -> None:
        self._taxonomy = taxonomy
        self._settings = settings
        self._examples = examples
        self._learned = learned

    def windows(self, trace: Trace) -> list[Window]:
        """Cut a run into windows that fit the model."""
        return plan(trace, self._window_tokens(), self._learned.correction)

    def around(self, trace: Trace, rows: Sequence[int], whole: Window) -> Window:
        """A window of some rows and their neighbours."""
        return around(trace, rows, whole, self._window_tokens(), self._learned.correction)

    def halve(self, windows: Sequence[Window]) -> None:
        """It was too much for the model and its server did not say how much it reads."""
        longest = max(tokens(w.about) + tokens(w.outline) + tokens(w.rows) for w in windows)
        fixed = self._fixed_tokens()
        self._learned.context = max((fixed + longest) // 2, fixed + _LEAST_WINDOW)

    def question(
        self, trace: Trace, window: Window, modes: Sequence[JudgedMode], sample: int = 0
    ) -> Question[Parsed]:
        """Word a question.

        Args:
            trace: The run.
            window: The part of it that is shown.
            modes: What is asked about.
            sample: 0 for the first look; from 1 on a repeat, which shows what detectors said.
        """
        word = boundary()
        slugs = tuple(mode.slug for mode in modes)
        findings = [f for f in trace.findings if f.slug in slugs] if sample else []
        system = self._system(modes, word, part=bool(window.outline), again=bool(sample))
        user = prompt.user(window, word, findings)
        key = hashlib.sha256(f"{sample}\n{system}\n{user}".replace(word, "").encode()).hexdigest()
        return Question(system, user, VerdictsForm(slugs), key)

    def _window_tokens(self) -> int:
        context = self._settings.context_tokens
        if self._learned.context is not None:
            context = min(context, self._learned.context)
        return max(context - self._fixed_tokens(), _LEAST_WINDOW)

    def _fixed_tokens(self) -> int:
        """What a question takes beside its window: the instructions, and room for the reply."""
        told = self._system(self._taxonomy.modes, "x" * 20, part=True, again=True)
        return tokens(told, self._learned.correction) + self._settings.reply_tokens

    def _system(
        self, modes: Sequence[JudgedMode], word: str, *, part: bool, again: bool = False
    ) -> str:
        return prompt.system(
            modes,
            word,
            min_chars=MIN_CHARS,
            language=self._settings.language,
            part=part,
            again=again,
            deep=self._settings.profile == "deep",
            examples=self._examples.shown,
        )
