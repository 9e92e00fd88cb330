"""Runs of bare model calls: a home-grown agent's requests, joined by what they have in common.

A model call outside any run tells of no run and no agent: all there is to go by is its request. It
belongs to the run

1. whose answer it names (``previous_response_id``),
2. whose history it extends: its first messages are those of an earlier request and the answer,
3. whose tools it brings the results of,
4. one of whose answers it quotes word for word in its latest messages, as agents do that hand
   texts to each other; an answer that stood in its own request (a form, an example) counts for
   nothing,

else it starts one. Several agents in one run are told apart by their system prompts. A request that
goes back behind what came since, or is made beside another one with the same history, is a branch;
the very first request of a run, made again once it was answered, is another run: a batch of equal
prompts is many small runs.

What is kept are digests, which never leave the process, bounded in number and time; and the latest
answer of a run of the host's own.
"""

from __future__ import annotations

from mastwatch.spans.histories.exchange import Exchange
from mastwatch.spans.histories.histories import Histories
from mastwatch.spans.histories.messages import HistoryMessage

__all__ = ["Exchange", "Histories", "HistoryMessage"]
