"""One call per method, for scripts and notebooks; users of ag2tracer know these names."""

from __future__ import annotations

import asyncio
import io
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from mastwatch.attribution.attributor import Attributor
from mastwatch.formats import RecordedRun, read_runs
from mastwatch.judge import clients
from mastwatch.judge.access import ModelAccess
from mastwatch.judge.configure import configured
from mastwatch.judge.settings import AttributionSettings, JudgeSettings
from mastwatch.store import Attribution, Method, Trace
from mastwatch.store.build import recorded

Run: TypeAlias = Trace | str | os.PathLike[str] | Mapping[str, Any] | Sequence[Mapping[str, Any]]
"""A run: of the store, a file in any format that mastwatch reads, or what such a file holds."""


def propose_verify(run: Run, *, model: Any, **options: Any) -> Attribution:
    """Propose a few steps and check each; the earliest that survives is the answer.

    Args:
        run: A ``Trace``, a file, or its contents (``{"history": [...]}``, a list of messages).
        model: A model's name at its server, a function, or a LangChain chat model.
        **options: ``ground_truth``, ``compat``, ``hints``, ``candidates``, ``neighbours``, and all
            settings of the judge's model (``base_url``, ``per_trace``, ``timeout``, ...).

    Raises:
        ValueError: The run cannot be read, or an option is wrong.
        RuntimeError: An event loop is running here: await ``Attributor.attribute`` instead.
    """
    return _attribute(run, "propose_verify", model, options)


def all_at_once(run: Run, *, model: Any, **options: Any) -> Attribution:
    """One question about the whole run; arguments as for ``propose_verify``."""
    return _attribute(run, "all_at_once", model, options)


def step_by_step(run: Run, *, model: Any, **options: Any) -> Attribution:
    """Ask of each step in turn; arguments as for ``propose_verify``."""
    return _attribute(run, "step_by_step", model, options)


def binary_search(run: Run, *, model: Any, **options: Any) -> Attribution:
    """Halve the run until one step is left; arguments as for ``propose_verify``."""
    return _attribute(run, "binary_search", model, options)


def trace_of(run: Run) -> Trace:
    """Read a run, the first one of a file with several.

    Raises:
        ValueError: It cannot be read; the message says why.
    """
    if isinstance(run, Trace):
        return run
    if isinstance(run, (str, os.PathLike)):
        items = read_runs(run)
    else:
        items = read_runs(io.BytesIO(json.dumps(run).encode()), name="run")
    problems = []
    for item in items:
        if isinstance(item, RecordedRun):
            return recorded(item)
        problems.append(str(item))
    raise ValueError("; ".join(problems) or "there is no run in it")


def _attribute(run: Run, method: Method, model: Any, options: Mapping[str, Any]) -> Attribution:
    own = AttributionSettings.__dataclass_fields__
    how = configured({name: value for name, value in options.items() if name not in own})
    asked = {"method": method, **{n: v for n, v in options.items() if n in own}}
    how = replace(how, attribution=configured({"attribution": asked}).attribution)
    if isinstance(model, str):
        how = replace(how, model=model)
    _check_no_loop()
    return asyncio.run(_ask(trace_of(run), model, how))


def _check_no_loop() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise RuntimeError("an event loop is running here: await Attributor.attribute(trace) instead")


async def _ask(trace: Trace, model: Any, how: JudgeSettings) -> Attribution:
    access = ModelAccess(clients.make(model, how), how)
    try:
        return await Attributor(access, how.attribution).attribute(trace)
    finally:
        await access.close()
