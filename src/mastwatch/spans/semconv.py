"""Every attribute, span and event name we write or read, typed once.

``gen_ai.*`` follows open-telemetry/semantic-conventions-genai as opentelemetry-util-genai 1.3b0
emits it (status Development, no tagged release). ``mastwatch.*`` covers what no convention does.
"""

from __future__ import annotations

# gen_ai.*, error.*
OPERATION_NAME = "gen_ai.operation.name"
PROVIDER_NAME = "gen_ai.provider.name"
REQUEST_MODEL = "gen_ai.request.model"
AGENT_NAME = "gen_ai.agent.name"
WORKFLOW_NAME = "gen_ai.workflow.name"
CONVERSATION_ID = "gen_ai.conversation.id"
TOOL_NAME = "gen_ai.tool.name"
TOOL_TYPE = "gen_ai.tool.type"
TOOL_CALL_ID = "gen_ai.tool.call.id"
TOOL_CALL_ARGUMENTS = "gen_ai.tool.call.arguments"
TOOL_CALL_RESULT = "gen_ai.tool.call.result"
INPUT_MESSAGES = "gen_ai.input.messages"
OUTPUT_MESSAGES = "gen_ai.output.messages"
SYSTEM_INSTRUCTIONS = "gen_ai.system_instructions"
INPUT_TOKENS = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
ERROR_TYPE = "error.type"

EVALUATION_EVENT = "gen_ai.evaluation.result"
EVALUATION_NAME = "gen_ai.evaluation.name"
EVALUATION_SCORE = "gen_ai.evaluation.score.value"
EVALUATION_LABEL = "gen_ai.evaluation.score.label"
EVALUATION_EXPLANATION = "gen_ai.evaluation.explanation"

# operations; span names are "{operation} {name}"
CHAT = "chat"
INVOKE_AGENT = "invoke_agent"
INVOKE_WORKFLOW = "invoke_workflow"
EXECUTE_TOOL = "execute_tool"
AGENT_MESSAGE = "agent_message"  # ours: carries no operation name

# mastwatch.*
RUN_ID = "mastwatch.run.id"
RUN_BRANCH = "mastwatch.run.branch"
RUN_PARENT_ID = "mastwatch.run.parent_id"
RUN_MAX_SEVERITY = "mastwatch.run.max_severity"
RUN_OUTCOME = "mastwatch.run.outcome"
USER_ID = "mastwatch.user.id"
TAG_PREFIX = "mastwatch.tag."
FRAMEWORK = "mastwatch.framework"
RELEASE = "mastwatch.release"
ENVIRONMENT = "deployment.environment.name"
OUTCOME_SUCCESS = "mastwatch.outcome.success"
OUTCOME_SCORE = "mastwatch.outcome.score"
MESSAGE_INDEX = "mastwatch.message.index"
MESSAGE_SENDER = "mastwatch.message.sender"
MESSAGE_RECIPIENT = "mastwatch.message.recipient"
MESSAGE_KIND = "mastwatch.message.kind"
MESSAGE_LENGTH = "mastwatch.message.length"
MESSAGE_TRUNCATED = "mastwatch.message.truncated"

HANDOFF_EVENT = "mastwatch.handoff"
HANDOFF_FROM = "mastwatch.handoff.from"
HANDOFF_TO = "mastwatch.handoff.to"
TERMINATION_EVENT = "mastwatch.termination"
TERMINATION_REASON = "mastwatch.termination.reason"
FINDING_EVENT = "mastwatch.finding"
FINDING_PREFIX = "mastwatch.finding."
NOTICE_EVENT = "mastwatch.notice"
NOTICE_PREFIX = "mastwatch.notice."

JUDGE_SLUG = "mastwatch.judge.slug"
JUDGE_TAXONOMY = "mastwatch.judge.taxonomy_version"
JUDGE_PROMPT = "mastwatch.judge.prompt_version"
JUDGE_MODEL = "mastwatch.judge.model"
JUDGE_CALIBRATION = "mastwatch.judge.calibration"
JUDGE_CONFIDENCE = "mastwatch.judge.confidence"
JUDGE_REASON = "mastwatch.judge.reason"
JUDGE_EVIDENCE = "mastwatch.judge.evidence"
JUDGE_QUOTES = "mastwatch.judge.quotes"
