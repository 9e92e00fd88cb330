"""From what a framework hook saw to spans and Events: the API that instrumentors write against.

An instrumentor opens a Run, and in it Turns, ModelCalls and ToolCalls; it says what was uttered
with ``message``. Parents are passed explicitly (never "whatever span is current"), a context token
never outlives one ``with`` block, and Events go out at once whatever the sampler decided.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.context import Context

from mastwatch import forks
from mastwatch.events import Contract, Event, RunFinished, RunStarted
from mastwatch.spans import attributes, hops, semconv
from mastwatch.spans.content import ContentPolicy
from mastwatch.spans.core import Core, Verdict, firing, told_on
from mastwatch.spans.histories import Exchange, Histories, HistoryMessage
from mastwatch.spans.run import Run
from mastwatch.spans.scope import (
    ModelCall,
    Scope,
    ToolCall,
    current_scope,
    error_type,
    latest_call,
)

if TYPE_CHECKING:
    from mastwatch.interventions import Interventions
    from mastwatch.spans.bridge import Bridge

__all__ = [
    "Emitter",
    "Exchange",
    "HistoryMessage",
    "ModelCall",
    "Run",
    "Scope",
    "ToolCall",
    "Watcher",
    "error_type",
]

MAX_WAITING = 1_024
"""Paused runs that can still be resumed, per process."""


class Watcher(Protocol):
    """What emit needs of the watch."""

    def observe(self, event: Event) -> list[Verdict] | None:
        """Bring the run's state up to date; called in order, under the run's lock.

        None means that the event does not count (a duplicate).
        """

    def deliver(self, event: Event, verdicts: list[Verdict] | None) -> None:
        """Tell the sinks; called without any lock."""


class Emitter:
    """Opens runs. One per ``instrument()``; shared by all instrumentors.

    Args:
        watch: Where Events go.
        tracer: Makes the spans: a tracer, or what gives the present one at each run's start.
        content: What text may stand on them.
        attributes: Put on every run's span (release, environment).
        clock: Unix time in seconds; recorded spans bring their own.
        idle_timeout: Seconds after which a run of bare model calls is over.

    Attributes:
        histories: The runs of model calls that no framework's run holds.
    """

    def __init__(
        self,
        watch: Watcher,
        tracer: trace.Tracer | Callable[[], trace.Tracer],
        content: ContentPolicy | None = None,
        attributes: Mapping[str, str] | None = None,
        clock: Callable[[], float] = time.time,
        idle_timeout: float = 3_600.0,
    ) -> None:
        self.watch = watch
        self.clock = clock
        self._tracer = tracer
        self.content = content or ContentPolicy()
        self.attributes = dict(attributes or {})
        self.interventions: Interventions | None = None  # set where the host lets us act
        self.bridge: Bridge | None = None  # set while spans of others are read
        self.surroundings: Context | None = None  # passed on by the process that started this one
        self.propagate = False  # name the run in the baggage of what is called from it
        self._waiting: OrderedDict[tuple[str, str], Core | None] = OrderedDict()
        self._lock = forks.lock()  # protects _waiting
        self.histories = Histories(self, idle_timeout)

    @property
    def tracer(self) -> trace.Tracer:
        """Makes the spans."""
        return self._tracer if isinstance(self._tracer, trace.Tracer) else self._tracer()

    def current(self) -> Scope | None:
        """The scope whose ``attached()`` block we are in, if its run is still open.

        Outside any, in a tool call that is read from another producer's span: the scope of that.
        """
        scope = current_scope.get()
        # While spans are told the current one is that of whoever happens to tell.
        if scope is None and self.bridge is not None and told_on.get() is None:
            scope = self.bridge.inside_tool(trace.get_current_span())
        return scope if scope is not None and not scope.run.finished else None

    def model_call_here(self) -> ModelCall | None:
        """The model call of a library above that is under way in this context, if any.

        A library below is then part of it: it may ``enrich`` the call and opens none of its own.
        """
        call = latest_call.get()
        return call if call is not None and call.waiting and not call.run.finished else None

    def model_span_here(self) -> bool:
        """Whether the current span is another producer's model call that the bridge reads.

        A library below then is part of that call, and tells nothing of it.
        """
        return self.bridge is not None and self.bridge.reads_model_call(trace.get_current_span())

    def suppressed(self) -> bool:
        """Whether someone (our own judge, for one) asked for no instrumentation here."""
        return bool(otel_context.get_value("suppress_instrumentation"))

    def start_run(
        self,
        name: str,
        *,
        framework: str,
        task: str | None = None,
        conversation_id: str | None = None,
        user_id: str | None = None,
        tags: Mapping[str, str] | None = None,
        prompts: Mapping[str, str] | None = None,
        contract: Contract | None = None,
        parent: Scope | None = None,
        resume: bool = False,
        spans: bool = True,
    ) -> Run:
        """Begin a run; inside another run (``parent`` or ``current()``) begin a branch of it.

        Args:
            name: The workflow's name.
            framework: Metric label.
            task: What it was asked to do.
            conversation_id: The framework's thread or session id.
            user_id: The host's own id of the user.
            tags: Free labels of the run, on its span and in the store.
            prompts: System prompt by agent name.
            contract: How it is meant to stop.
            parent: The scope it happens in; ``current()`` by default.
            resume: Go on with the paused run of this conversation, where there is one. Without
                it a new run of the conversation is the end of the paused one.
            spans: False where another producer already traces the library: Events flow, the spans
                are theirs.
        """
        scope = parent or self.current()
        if scope is not None and not scope.run.finished:
            core = scope.run.core
            # Who traces the library around need not trace this one.
            traced = not scope.run.spans and scope.run.framework == framework
            run = Run(self, core, core.new_branch(), scope, framework, spans and not traced)
        else:
            self.histories.expire()
            resumed = self._resumable(framework, conversation_id, resume)
            run = self._root(name, framework, conversation_id, user_id, tags or {}, spans, resumed)
        run.publish(
            RunStarted(
                run_id=run.id,
                at=self.clock(),
                branch=run.branch,
                name=name,
                framework=framework,
                task=task,
                conversation_id=conversation_id,
                user_id=user_id,
                tags={**(tags or {}), **run.parentage},
                prompts=dict(prompts or {}),
                contract=contract or Contract(),
                resumed=run.core.resumed and not run.branch,
            )
        )
        return run

    def _root(
        self,
        name: str,
        framework: str,
        conversation_id: str | None,
        user_id: str | None,
        tags: Mapping[str, str],
        spans: bool,
        resumed: Core | None,
    ) -> Run:
        core = Core(resumed, framework, conversation_id, spans)
        context = self._around(resumed)
        core.parent_id = hops.caller(context)
        if spans:
            about: dict[str, Any] = {
                semconv.OPERATION_NAME: semconv.INVOKE_WORKFLOW,
                semconv.WORKFLOW_NAME: name,
                **core.identity,
                **self.attributes,
                **{semconv.TAG_PREFIX + key: value for key, value in tags.items()},
            }
            if user_id:
                about[semconv.USER_ID] = user_id
            if core.parent_id:
                about[semconv.RUN_PARENT_ID] = core.parent_id
            core.span = self.tracer.start_span(
                f"{semconv.INVOKE_WORKFLOW} {name}", context=context, attributes=about
            )
        return Run(self, core, "", None, framework, spans)

    def _around(self, resumed: Core | None) -> Context | None:
        """What a run's span is put below; None for what is current here."""
        if trace.get_current_span().get_span_context().is_valid:
            return None
        return resumed.span_context() if resumed is not None else self.surroundings

    def _resumable(self, framework: str, conversation_id: str | None, resume: bool) -> Core | None:
        """The paused run to go on with; one whose conversation went on otherwise is ended."""
        if not resume and not conversation_id:
            return None
        with self._lock:
            core = self._waiting.pop((framework, conversation_id or ""), None)
        if core is None or resume:
            return core
        event = RunFinished(
            run_id=core.id,
            at=self.clock(),
            index=core.rows - 1,
            outcome="abandoned",
            reason="the conversation went on with new input",
        )
        self.watch.deliver(event, self.watch.observe(event))
        return None

    def put_waiting(self, framework: str, core: Core) -> None:
        """Keep a paused run until its conversation is resumed."""
        key = (framework, core.conversation_id or "")
        with self._lock:
            # Of two paused runs without an id nobody can tell which one is resumed.
            nameless = not core.conversation_id and key in self._waiting
            self._waiting[key] = None if nameless else core
            while len(self._waiting) > MAX_WAITING:
                self._waiting.popitem(last=False)

    def write_verdict(self, verdict: Verdict) -> trace.SpanContext:
        """Put a finding or notice as an event on the span where it fired.

        Returns:
            That span's context, for the evaluation log event.
        """
        span: trace.Span = getattr(firing, "span", None) or trace.INVALID_SPAN
        span.add_event(*attributes.of_verdict(verdict))
        return span.get_span_context()
