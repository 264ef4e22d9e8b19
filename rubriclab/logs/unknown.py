"""Recognise logs of tools whose form the lab cannot read.

Without this, such a log would be read as a table of answers.
"""

from collections.abc import Collection
from dataclasses import dataclass

from rubriclab.data.items import NAMES, plain_name
from rubriclab.data.limits import refusal
from rubriclab.data.tables import Table
from rubriclab.model.text import LabError


@dataclass(frozen=True)
class Form:
    """One form of a tool's records, recognised by their keys.

    keys: a record has all of them
    prefixes: or one of its keys begins with one of these
    """

    tool: str
    keys: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()


FORMS = (
    Form("LangSmith", ("run_type", "inputs")),
    Form("LangSmith", ("dotted_order", "inputs")),
    Form("LangSmith", ("inputs", "outputs", "reference_outputs")),
    Form("LangSmith", ("inputs", "outputs", "reference_example_id")),
    Form("LangSmith", ("inputs", "outputs", "feedback_stats")),
    Form("Weave", ("op_name", "inputs")),
    Form("Weave", ("op_name", "trace_id")),
    Form("Phoenix or OpenInference", (), ("context.span_id", "context.trace_id", "attributes.")),
    Form("Phoenix or OpenInference", ("span_kind", "attributes")),
    Form("Phoenix or OpenInference", ("context", "attributes", "name")),
    Form("OpenTelemetry", ("resourceSpans",)),
    Form("OpenTelemetry", ("resource_spans",)),
    Form("OpenAI evals", ("spec",)),
    Form("OpenAI evals", ("run_id", "event_id", "type", "data")),
    Form("OpenAI evals", ("eval_id", "run_id", "results")),
    Form("OpenAI evals", ("datasource_item", "results")),
    Form("Anthropic message batches", ("custom_id", "result")),
    Form("Anthropic message batches", ("custom_id", "params")),
    Form("Amazon Bedrock batch inference", ("recordId", "modelInput")),
    Form("Amazon Bedrock batch inference", ("recordId", "modelOutput")),
    Form("Amazon Bedrock evaluation", ("inputRecord", "modelResponses")),
    Form("Amazon Bedrock evaluation", ("automatedEvaluationResult",)),
    Form("Vertex AI or Gemini batch prediction", ("instance", "prediction")),
    Form("Vertex AI, Gemini or a gateway", ("request", "response")),
    Form("Langfuse", ("traceId", "input", "output")),
    Form("Langfuse", ("projectId", "input", "output")),
    Form("Langfuse", ("observations", "input", "output")),
    Form("Langfuse", ("parentObservationId",)),
    Form("Langfuse", ("sessionId", "input", "output")),
    Form("Braintrust", ("_xact_id",)),
    Form("Braintrust", ("span_attributes", "input")),
    Form("Braintrust", ("root_span_id",)),
    Form("Braintrust", ("input", "output", "expected", "scores")),
    Form("Opik", ("feedback_scores", "input")),
    Form("Ragas", ("user_input", "retrieved_contexts")),
    Form("Ragas", ("question", "contexts", "ground_truth")),
    Form("Ragas", ("question", "contexts", "ground_truths")),
    Form("MLflow", ("trace_id", "assessments")),
    Form("MLflow", ("request_id", "execution_time_ms")),
    Form("MLflow", (), ("inputs/", "outputs/")),
    Form("TruLens", ("app_id", "record_id", "input")),
    Form("TruLens", ("record_json",)),
    Form("TruLens", ("perf_json",)),
    Form("Helicone", ("request_body", "response_body")),
    Form("Helicone", ("request_id", "response_body")),
    Form("Helicone", ("helicone_id",)),
    Form("Azure AI evaluation", (), ("inputs.", "outputs.")),
    Form("HELM", ("request_states",)),
    Form("HELM", ("instance", "train_trial_index")),
    Form("LightEval", ("full_prompt", "predictions")),
    Form("LightEval", ("doc", "model_response", "metric")),
    Form("OpenCompass", ("origin_prompt", "prediction")),
    Form("LiteLLM", ("litellm_call_id",)),
    Form("stored chat completions", ("choices", "usage", "object")),
    Form("a tracing tool (LangSmith, MLflow, Weave or another)", ("inputs", "outputs")),
)
"""Forms by the keys of their records; the first that fits names the tool."""
JUDGED = {"ordering", "order", "order_shown", "shown", "first", "second", "winner"}
"""Columns of a table of judgments: a record with one of them has an order or a winner."""


def unknown_form(keys: Collection[str], structured: Collection[str]) -> str:
    """Return the tool whose log has records with these keys; empty where we recognise none.

    ``structured``: the keys whose values are lists or objects. A form of one or two keys needs one
    of them to be structured, because a plain table may have columns with the same names. A record
    that has an order is a judgment, whatever else it has.
    """
    names = {str(key) for key in keys}
    if JUDGED & {name.lower() for name in names}:
        return ""
    for form in FORMS:
        certain = len(form.keys) > 2 or not {*form.keys}.isdisjoint(structured)
        if form.keys and names.issuperset(form.keys) and certain:
            return form.tool
        if form.prefixes and any(name.startswith(form.prefixes) for name in names):
            return form.tool
    return ""


def unknown_log(name: str, tool: str, known: Collection[str]) -> LabError:
    """Return the error for a file that looks like a log of ``tool``, with the known forms."""
    return refusal(
        name,
        f" looks like a log of {tool}, which the lab cannot read. It can read logs of "
        f"{', '.join(known)}. Or write a table with the columns judge, item_id, ordering (for "
        "example 3 1 2 5 4) and score.",
    )


def unknown_table(table: Table) -> str:
    """Return the tool whose log a table looks like; empty where a column has the answers."""
    texts = [
        column
        for column in table.columns
        if plain_name(column) in NAMES["response"] and column not in table.structured
    ]
    return "" if texts else unknown_form(table.columns, table.structured)
