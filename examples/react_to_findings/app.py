"""Stop a run that repeats itself, with a callback and an exception of your own.

Run it with ``python app.py`` (needs ``mastwatch[autogen]``). Two AG2 agents would thank each other
forty times; the app ends their chat when mastwatch is sure that it goes nowhere.
"""

from autogen import ConversableAgent

import mastwatch


class GoesNowhere(Exception):
    """The chat was stopped on a finding."""


def main() -> None:
    mastwatch.instrument()
    sure: list[mastwatch.Finding] = []
    mastwatch.on_finding(lambda f: f.severity >= mastwatch.Severity.WARN and sure.append(f))

    def stop_if_sure(recipient, messages=None, sender=None, config=None):
        if sure:
            finding = sure[0]
            raise GoesNowhere(f"{finding.mode} at row {finding.message_index}")
        return False, None  # let the agent answer as it would

    host, guest = (
        ConversableAgent(name, llm_config=False, default_auto_reply=line, human_input_mode="NEVER")
        for name, line in (
            ("host", "Thank you so much, it was a great pleasure to work with you!"),
            ("guest", "The pleasure was all mine, thank you for the kind words!"),
        )
    )
    guest.register_reply([ConversableAgent, None], stop_if_sure, position=0)
    try:
        host.initiate_chat(guest, message="We are done, thank you!", max_turns=40, silent=True)
    except GoesNowhere as reason:
        print(f"stopped: {reason}")


if __name__ == "__main__":
    main()
