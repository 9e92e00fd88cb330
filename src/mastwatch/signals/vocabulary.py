"""Parts of tools' names that say what a tool does; what people say is in ``phrases``."""

from __future__ import annotations

MUTATING_VERBS = """
    add append apply approve assign book buy cancel change commit copy create delete deploy drop
    edit exchange insert install like merge modify move order patch pay post publish purchase put
    rename replace reset return save send set submit transfer uninstall update upload write
"""
"""Parts of a tool's name that say it changes the world, unless it begins with a reading verb."""

READING_VERBS = """
    check count describe fetch find get list load look query read search show view
"""

SPACER_TOOLS = """
    sleep wait pause noop idle think done scroll scroll_up scroll_down page_up page_down go_back
"""
"""Tools that pass time or move a viewport."""

FINISHING_TOOLS = """
    finish final_answer finalanswer complete_task task_complete attempt_completion finish_task
    submit_final_answer terminate end_conversation end_task mark_task_complete
"""
"""Tools whose call says that the run is over."""

VOLATILE_ARGUMENTS = """
    call_id callid tool_call_id toolcallid request_id requestid message_id messageid trace_id
    span_id nonce timestamp idempotency_key idempotencykey
"""
"""Arguments that identify the call. ``id`` alone is none: which object is asked for matters."""
