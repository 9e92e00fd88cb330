"""What the host wants done on a finding outside its run: callbacks, and messages to a webhook."""

from mastwatch.sinks.actions.callbacks import CallbackSink
from mastwatch.sinks.actions.settings import Actions, read_actions
from mastwatch.sinks.actions.webhook import WebhookSink

__all__ = ["Actions", "CallbackSink", "WebhookSink", "read_actions"]
