"""Instrumentors of the example's library, each of which breaks the contract in one way."""

from __future__ import annotations

import functools
import sys
from pathlib import Path
from typing import Any, ClassVar

_EXAMPLE = Path(__file__).parents[2] / "examples" / "own_instrumentor"
sys.path.append(str(_EXAMPLE / "src"))

import mastwatch_acme  # noqa: E402 - found by the line above
from mastwatch_acme import AcmeInstrumentor  # noqa: E402

from mastwatch_instrumentations.patching import around, around_generator  # noqa: E402

BAD: list[tuple[type[Any], tuple[str, ...]]] = []


def breaks(*words: str) -> Any:
    """Register a class and what is said of it."""

    def add(kind: type[Any]) -> type[Any]:
        BAD.append((kind, words))
        return kind

    return add


class Own(AcmeInstrumentor):
    """Patches for itself what a subclass names, beside all that is right."""

    __doc__ = AcmeInstrumentor.__doc__

    def __init__(self) -> None:
        super().__init__()
        self._restore: list[tuple[Any, str, Any]] = []

    def replace(self, owner: Any, name: str, wrapper: Any) -> None:
        self._restore.append((owner, name, vars(owner)[name]))
        setattr(owner, name, wrapper)

    def uninstall(self) -> None:
        while self._restore:
            setattr(*self._restore.pop())
        super().uninstall()


@breaks("name is 'Acme 2', not snake case")
class BadName(AcmeInstrumentor):
    """Named oddly."""

    name = "Acme 2"


@breaks("minimum names no oldest version of acme-agents")
class NoMinimum(AcmeInstrumentor):
    """Says nothing of versions."""

    minimum: ClassVar[dict[str, str]] = {}


@breaks("it has no docstring", "the producer 'other' is not written package.module:Class")
class Undocumented(AcmeInstrumentor):
    producers = ("other",)


Undocumented.__doc__ = None


@breaks("run() gives another value when it is installed")
class Improving(Own):
    """Returns something else."""

    def install(self, emitter: Any) -> None:
        from acme_agents import Team

        super().install(emitter)
        run = Team.run
        self.replace(Team, "run", lambda team, task: [line.upper() for line in run(team, task)])


@breaks("run() prints something else when it is installed")
class Talking(Own):
    """Prints."""

    def install(self, emitter: Any) -> None:
        from acme_agents import Team

        super().install(emitter)
        run = Team.run

        def talk(team: Any, task: str) -> Any:
            print("watching")
            return run(team, task)

        self.replace(Team, "run", talk)


@breaks("fail() raises builtins.RuntimeError from the error itself when it is installed")
class Chaining(Own):
    """Raises an error of its own."""

    def install(self, emitter: Any) -> None:
        from acme_agents import Agent

        super().install(emitter)
        reply = Agent.reply

        def chain(agent: Any, lines: Any) -> Any:
            try:
                return reply(agent, lines)
            except Exception as error:
                raise RuntimeError("seen") from error

        self.replace(Agent, "reply", chain)


class Other(AcmeInstrumentor):
    """Has frames of its own; the test puts them in the place of the example's."""

    frames: ClassVar[dict[str, Any]] = {}


class _NeverEnding(mastwatch_acme.Run):
    def failed(self, error: BaseException) -> None:
        if not isinstance(error, GeneratorExit):
            super().failed(error)


@breaks("1 runs never end when a stream is left")
class NeverEnding(Other):
    """Forgets a run whose stream is left."""

    frames: ClassVar[dict[str, Any]] = {"Run": _NeverEnding}


class _Nameless(mastwatch_acme.Run):
    def failed(self, error: BaseException) -> None:
        self.run.finish("completed")


@breaks(
    "a run that fails ends as completed, not error",
    "a stream that is left ends as completed, not abandoned",
)
class Nameless(Other):
    """Knows one end only."""

    frames: ClassVar[dict[str, Any]] = {"Run": _Nameless}


class _Quoting(mastwatch_acme.Run):
    def __init__(self, emitter: Any, team: Any, args: Any, kwargs: Any) -> None:
        self.run = emitter.start_run(args[0], framework="acme", task=args[0])


@breaks("quotes what was said in run()")
class Quoting(Other):
    """Calls a run by its task."""

    frames: ClassVar[dict[str, Any]] = {"Run": _Quoting}


class _Toolless(mastwatch_acme.Tool):
    def __new__(cls, *_: Any) -> Any:
        return None


@breaks(
    "it tells no ToolCalled of run()",
    "it tells no ToolReturned of run()",
    "it does not tell the text 'page 4: four metres', in-process",
)
class Toolless(Other):
    """Sees no tools."""

    frames: ClassVar[dict[str, Any]] = {"Tool": _Toolless}


class _Mute(mastwatch_acme.Turn):
    def done(self, text: str) -> None:
        self.scope.run.message(self.scope.agent, None, carriers=(self.scope,))
        self.scope.end()


@breaks("in-process", "in-process")
class Mute(Other):
    """Withholds what agents say."""

    frames: ClassVar[dict[str, Any]] = {"Turn": _Mute}


class _Twofold(mastwatch_acme.Model):
    def done(self, said: Any) -> None:
        self.call.run._span("chat twice", {}, self.call).end()
        super().done(said)


@breaks("run(): a model call is one span")
class Twofold(Other):
    """Makes two spans for a model call."""

    frames: ClassVar[dict[str, Any]] = {"Model": _Twofold}


class _Greedy(mastwatch_acme.Run):
    def __init__(self, emitter: Any, team: Any, args: Any, kwargs: Any) -> None:
        self.run = emitter.start_run(team.name, framework="acme", task=args[0])


@breaks("it opens chat, execute_tool, invoke_agent, invoke_workflow spans though other.module:Its")
class Greedy(Other):
    """Opens spans whoever else does."""

    frames: ClassVar[dict[str, Any]] = {"Run": _Greedy}
    producers = ("other.module:Its",)


class _Deaf(mastwatch_acme.Run):
    def __new__(cls, *_: Any) -> Any:
        return object.__new__(cls)


@breaks("where instrumentation is suppressed: ask emitter.suppressed()")
class Deaf(Other):
    """Does not ask whether it is wanted."""

    frames: ClassVar[dict[str, Any]] = {"Run": _Deaf}


class _Hoarding(mastwatch_acme.Run):
    teams: ClassVar[list[Any]] = []

    def __init__(self, emitter: Any, team: Any, *call: Any) -> None:
        self.teams.append(team)
        super().__init__(emitter, team, *call)


@breaks("1 objects of the library are kept after a run")
class Hoarding(Other):
    """Keeps every team."""

    frames: ClassVar[dict[str, Any]] = {"Run": _Hoarding}


class _Once(mastwatch_acme.Run):
    def __new__(cls, emitter: Any, *call: Any) -> Any:
        if getattr(emitter, "seen", False):
            return None
        emitter.seen = True
        return super().__new__(cls, emitter, *call)


@breaks("a second run tells something else than the first")
class Once(Other):
    """Sees the first run only."""

    frames: ClassVar[dict[str, Any]] = {"Run": _Once}


@breaks("agents made after install() fail in copy.deepcopy")
class Sealing(Own):
    """Puts something on agents that cannot be copied."""

    def install(self, emitter: Any) -> None:
        import threading

        from acme_agents import Agent

        super().install(emitter)
        init = Agent.__init__

        def seal(agent: Any, *args: Any, **kwargs: Any) -> None:
            init(agent, *args, **kwargs)
            agent.lock = threading.Lock()

        self.replace(Agent, "__init__", seal)


@breaks("Agent.use has another signature when it is wrapped", "loses its __name__", "__wrapped__")
class Nondescript(Own):
    """Wraps without functools.wraps."""

    def install(self, emitter: Any) -> None:
        from acme_agents import Agent

        super().install(emitter)
        use = Agent.use
        self.replace(Agent, "use", lambda *args, **kwargs: use(*args, **kwargs))


@breaks("uninstall() removes a wrapper that others put on Agent.use")
class Tearing(Own):
    """Restores what it saved, whatever is there by now."""

    def install(self, emitter: Any) -> None:
        from acme_agents import Agent

        super().install(emitter)
        use = Agent.use
        self.replace(Agent, "use", functools.wraps(use)(lambda *args: use(*args)))


@breaks("Agent.use stays wrapped after uninstall()")
class Staying(Own):
    """Leaves a wrapper behind."""

    made: ClassVar[list[Own]] = []

    def install(self, emitter: Any) -> None:
        from acme_agents import Agent

        super().install(emitter)
        use = Agent.use
        self.replace(Agent, "use", functools.wraps(use)(lambda *args: use(*args)))

    def uninstall(self) -> None:
        AcmeInstrumentor.uninstall(self)
        self.made.append(self)


@breaks("it tells of a run after uninstall()")
class Lingering(Own):
    """Leaves a wrapper that goes on telling."""

    def install(self, emitter: Any) -> None:
        from acme_agents import Team

        super().install(emitter)
        init = Team.__init__

        def watched(team: Any, *args: Any) -> None:
            init(team, *args)
            emitter.start_run("made", framework="acme").finish("completed")

        self.replace(Team, "__init__", watched)

    def uninstall(self) -> None:
        AcmeInstrumentor.uninstall(self)
        self.made.append(self)

    made: ClassVar[list[Own]] = []


@breaks("install() called twice tells", "two instances installed at once tell")
class Doubling(Own):
    """Wraps again and again."""

    def install(self, emitter: Any) -> None:
        from acme_agents import Agent, Team

        for owner, name, hook in (
            (Team, "stream", around_generator("acme", lambda *c: mastwatch_acme.Run(emitter, *c))),
            (Agent, "reply", around("acme", lambda *c: self._in(emitter, "Turn", *c))),
            (Agent, "ask", around("acme", lambda *c: self._in(emitter, "Model", *c))),
            (Agent, "use", around("acme", lambda *c: self._in(emitter, "Tool", *c))),
        ):
            original = vars(owner)[name]
            self.replace(owner, name, self._wrapped(original, hook))
        self._status = {"Team.stream": True}

    def _in(self, emitter: Any, frame: str, *call: Any) -> Any:
        return mastwatch_acme._inside(emitter, getattr(mastwatch_acme, frame), *call)

    def _wrapped(self, original: Any, hook: Any) -> Any:
        if original.__name__ == "stream":

            @functools.wraps(original)
            def wrapper(this: Any, *args: Any, **kwargs: Any) -> Any:
                yield from hook(functools.partial(original, this), this, args, kwargs)
        else:

            @functools.wraps(original)
            def wrapper(this: Any, *args: Any, **kwargs: Any) -> Any:
                return hook(functools.partial(original, this), this, args, kwargs)

        return wrapper


@breaks("the watch raises, and run() raises ZeroDivisionError", "guard counts nothing")
class Unguarded(Own):
    """Has no guard."""

    def install(self, emitter: Any) -> None:
        from acme_agents import Team

        stream = Team.stream

        @functools.wraps(stream)
        def watched(team: Any, task: str) -> Any:
            if emitter.suppressed():
                yield from stream(team, task)
                return
            run = emitter.start_run(team.name, framework="acme", task=task)
            yield from stream(team, task)
            run.finish("completed")

        self.replace(Team, "stream", watched)
        self._status = {"Team.stream": True}


@breaks("stream() tells of a run before its first item is asked for", "Team.stream is no longer a")
class Eager(Own):
    """Begins a run when the stream is made."""

    def install(self, emitter: Any) -> None:
        from acme_agents import Team

        super().install(emitter)
        stream = Team.stream

        @functools.wraps(stream)
        def eager(team: Any, task: str) -> Any:
            lines = stream(team, task)
            first = next(lines)

            def rest() -> Any:
                yield first
                yield from lines

            return rest()

        self.replace(Team, "stream", eager)


@breaks("installed before the library is imported it never comes to life: see trigger")
class Waiting(AcmeInstrumentor):
    """Waits for a module that nobody imports."""

    trigger = "acme_agents.nowhere"


@breaks("hooks() does not name its hooks and whether each is in place")
class Hookless(AcmeInstrumentor):
    """Does not say what is in place."""

    def hooks(self) -> dict[str, bool]:
        return {}
