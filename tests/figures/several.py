"""Small runs of several judges, made by rules that can be checked by eye, for tests of pictures."""

from functools import cache
from itertools import combinations

import numpy as np
import pandas as pd

from rubriclab import api as notebook
from rubriclab.core.topic import Findings
from rubriclab.model.orders import balanced

NAMES = (
    "gpt-4",
    "gpt-4o",
    "o1-mini",
    "claude-3-opus",
    "claude-3-haiku",
    "gemini-pro",
    "gemini-flash",
    "llama-70b",
    "llama-8b",
    "qwen-8b",
    "qwen-32b",
    "mistral-24b",
    "deepseek-v3",
    "phi-4",
    "yi-34b",
)
TASKS = ("coding", "math", "writing")


@cache
def scored(judges: int, datasets: int = 1, items: int = 16) -> Findings:
    """Scores of 1 to 3: the k-th judge leans to position 1 the more, the larger k is.

    Balanced orders, one fixed order repeated, and the ratings of one person.
    """
    orders = [tuple(order) for order in balanced((1, 2, 3))]
    lines = []
    for k, dataset in enumerate(("stories", "mails", "notes", "news")[:datasets]):
        random = np.random.default_rng(k)
        quality = random.integers(1, 4, items)
        for judge in range(judges):
            for item in range(items):
                for number, order in enumerate([*orders, *[orders[0]] * len(orders)]):
                    leans = random.random() < 0.1 + 0.8 * judge / max(1, judges - 1)
                    shown = order if number < len(orders) else orders[0]
                    score = shown[0] if leans else int(quality[item])
                    lines.append(
                        {
                            "judge": NAMES[judge],
                            "dataset": dataset,
                            "item_id": f"{dataset}-{item}",
                            "prompt": f"{dataset}-prompt-{item // 2}",
                            "strategy": "balanced" if number < len(orders) else "fixed",
                            "ordering": " ".join(map(str, shown)),
                            "score": score,
                            "repeat": max(0, number - len(orders) + 1),
                            "human": int(quality[item]),
                        }
                    )
    return notebook.read(pd.DataFrame(lines)).findings


@cache
def chosen(judges: int) -> Findings:
    """Choices between two of three candidates, on three tasks of four questions.

    The k-th judge chooses the answer shown first the more often, the larger k is.
    """
    worth = {"alpha": 2, "beta": 1, "gamma": 0}
    random = np.random.default_rng(1)
    lines = []
    for judge in range(judges):
        for number, task in enumerate(TASKS):
            for question in range(4):
                for pair in combinations(worth, 2):
                    for first, second in (pair, pair[::-1]):
                        better = "A" if worth[first] > worth[second] else "B"
                        leans = random.random() < judge / max(1, judges)
                        lines.append(
                            {
                                "judge": NAMES[judge],
                                "question_id": f"{number}-{question}",
                                "task": task,
                                "first": first,
                                "second": second,
                                "choice": "A" if leans else better,
                            }
                        )
    return notebook.read(pd.DataFrame(lines), name="pairs").findings


@cache
def criteria(judges: int, items: int = 12) -> Findings:
    """Scores of three criteria: the k-th judge adds a point to what is first, in k of 15 calls."""
    names = ("Clarity", "Facts", "Tone")
    random = np.random.default_rng(2)
    lines = []
    for judge in range(judges):
        for text in range(items):
            for order in balanced(names):
                for name in names:
                    added = order[0] == name and random.random() < judge / 15
                    lines.append(
                        {
                            "judge": NAMES[judge],
                            "text_id": f"text-{text}",
                            "ordering": "|".join(order),
                            "criterion": name,
                            "score": 2 + text % 3 + int(added),
                        }
                    )
    return notebook.read(pd.DataFrame(lines)).findings


@cache
def orders_of_one() -> Findings:
    """One judge with the rubric upwards, and downwards, where every third score is a point less."""
    lines = []
    for strategy, shown in (("fixed", "1 2 3"), ("descending", "3 2 1")):
        for item in range(12):
            lower = strategy == "descending" and item % 3 == 0
            line = {"judge": NAMES[0], "item_id": f"i{item}", "strategy": strategy}
            lines.append({**line, "ordering": shown, "score": 1 + item % 2 + (not lower)})
    return notebook.read(pd.DataFrame(lines), name="orders").findings
