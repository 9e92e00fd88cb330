"""Stop a run that goes nowhere, and hear of it, in a few lines.

Run it with ``python app.py`` (needs ``mastwatch[autogen]``). Two AG2 agents would thank each other
forty times. mastwatch ends their chat when it is sure that it goes nowhere: the chat returns as any
other, with its transcript. With ``python app.py --dry-run`` it only counts what it would have done.
"""

import argparse
import asyncio

from autogen import ConversableAgent

import mastwatch


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--dry-run", action="store_true", help="end nothing, only count")
    dry_run = parser.parse_args().dry_run

    mastwatch.instrument(actions=[{"mode": "FM-1.5", "action": "halt", "dry_run": dry_run}])
    mastwatch.on_finding(tell)

    host, guest = (
        ConversableAgent(name, llm_config=False, default_auto_reply=line, human_input_mode="NEVER")
        for name, line in (
            ("host", "Thank you so much, it was a great pleasure to work with you!"),
            ("guest", "The pleasure was all mine, thank you for the kind words!"),
        )
    )
    result = host.initiate_chat(guest, message="We are done, thank you!", max_turns=40, silent=True)
    mastwatch.flush()
    print(f"{len(result.chat_history)} messages")


async def tell(finding: mastwatch.Finding) -> None:
    """Where you would write to a ticket system: nobody waits for it."""
    await asyncio.sleep(0)
    if finding.severity is mastwatch.Severity.ALERT:
        print(f"{finding.mode} at message {finding.message_index}")


if __name__ == "__main__":
    main()
