"""Check that judges' names match the papers' loosely, and never by a mere part."""

import pytest

from rubriclab.words.paper_names import matched

PAPERS = [
    "GPT-OSS-20B",
    "GPT-OSS-120B",
    "Qwen3.5-9B",
    "Qwen3.5-27B",
    "Gemma-3-12B",
    "Gemma-3-27B",
    "GPT-4o",
    "GPT-4",
    "GPT-4-Turbo",
    "GPT-3.5-Turbo",
    "Claude-3-Opus",
    "Claude-3.5-Sonnet",
    "Claude-3-Sonnet",
    "DeepSeek-V3",
    "Mistral-24B",
    "Qwen3-32B",
    "Qwen3-8B",
    "o1-mini",
    "Llama-3.3-70B",
]
SAME = {
    "openai/gpt-oss-20b": "GPT-OSS-20B",
    "gpt-oss:20b": "GPT-OSS-20B",
    "gpt-4o": "GPT-4o",
    "gpt-4o-2024-05-13": "GPT-4o",
    "gpt-4-0613": "GPT-4",
    "gpt-4-1106-preview": "GPT-4-Turbo",
    "gpt-4-turbo-2024-04-09": "GPT-4-Turbo",
    "gpt-3.5-turbo-1106": "GPT-3.5-Turbo",
    "google/gemma-3-27b-it": "Gemma-3-27B",
    "Qwen/Qwen3.5-9B": "Qwen3.5-9B",
    "Qwen3-8B-AWQ": "Qwen3-8B",
    "qwen3-8b-instruct-q4_k_m.gguf": "Qwen3-8B",
    "mistral-small-24b-instruct-2501": "Mistral-24B",
    "claude-3-5-sonnet-20240620": "Claude-3.5-Sonnet",
    "claude-3-sonnet-20240229": "Claude-3-Sonnet",
    "deepseek-ai/DeepSeek-V3-0324": "DeepSeek-V3",
    "meta-llama/Llama-3.3-70B-Instruct": "Llama-3.3-70B",
    "o1-mini-2024-09-12": "o1-mini",
    "GPT_4o": "GPT-4o",
    "azure/gpt-4o@2024-08-06": "GPT-4o",
    "Qwen3-8B-FP8": "Qwen3-8B",
    "qwen3-32b-w4a16": "Qwen3-32B",
    "Qwen3.5-9B-int4": "Qwen3.5-9B",
    "gemma-3-12b-it-bnb-4bit": "Gemma-3-12B",
    "gemma-3-27b-it-q4_0": "Gemma-3-27B",
    "llama3.3:70b-instruct-q8_0": "Llama-3.3-70B",
    "unsloth/Llama-3.3-70B-Instruct-bf16": "Llama-3.3-70B",
    "RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic": "Llama-3.3-70B",
    "anthropic.claude-3-opus-20240229-v1:0": "Claude-3-Opus",
    "us.anthropic.claude-3-5-sonnet-20241022-v2:0": "Claude-3.5-Sonnet",
    "lmstudio-community/gpt-oss-120b-GGUF": "GPT-OSS-120B",
}
OTHERS = [
    "gpt-4o-mini",
    "gpt-4.1",
    "gpt-4.5",
    "gpt-5",
    "o1",
    "o3-mini",
    "smollm2-135m",
    "gemma-2-27b-it",
    "qwen3-14b",
    "llama-3.3-8b",
    "Qwen3.5-27B-thinking",
    "claude-3-haiku",
    "gemma-3-4b",
    "deepseek-r1",
    "my-judge-7b",
    "gpt-4o-audio-preview",
    "gpt-4-32k",
    "gpt-4o (effort high)",
    "o1-mini-high",
    "Qwen3-8B-thinking",
    "Qwen3-8B-Base",
    "Qwen3-80B",
    "mistral-small",
    "mistral-7b-instruct-v0.3",
    "llama-3.3",
    "llama-3.1-70b-instruct",
    "claude-3-7-sonnet-20250219",
    "claude-3-5-haiku-20241022",
    "gpt-oss",
    "GPT-4o temperature 1",
]


@pytest.mark.papers(74)
@pytest.mark.parametrize("ours", SAME)
def test_packaging_of_a_name_does_not_count(ours: str) -> None:
    assert matched(ours, PAPERS) == SAME[ours]


@pytest.mark.papers(74)
@pytest.mark.parametrize("ours", OTHERS)
def test_another_model_is_not_taken_for_one_of_the_paper(ours: str) -> None:
    assert matched(ours, PAPERS) == ""


def test_two_names_that_mean_the_same_are_not_guessed_between() -> None:
    assert matched("gpt-4o-2024-08-06", ("GPT-4o", "gpt-4o-preview")) == ""
    assert matched("GPT-4o", ("GPT-4o", "gpt-4o-preview")) == "GPT-4o"
    assert matched("", PAPERS) == ""


def test_data_sets_match_too() -> None:
    papers = ("HANNA", "MT-Bench", "SummEval", "Vicuna")
    named = {
        "hanna": "HANNA",
        "mt_bench_turns": "MT-Bench",
        "vicuna_bench": "Vicuna",
        "Summ_Eval": "SummEval",
    }
    assert {ours: matched(ours, papers) for ours in named} == named
    assert matched("Topical-Chat", papers) == ""
    assert matched("topical_chat", ("TopicalChat", "Topical-USR")) == "TopicalChat"
