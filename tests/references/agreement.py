"""Answers of other libraries on tables of ratings, frozen in ``agreement.json``.

Run in an environment of its own: scikit-learn 1.9, krippendorff 0.9, irrCAC 0.4.4, pingouin 0.7,
scipy (irrCAC holds numpy below 2, so it cannot be the project's). Tables come from a seed or from
the data beside the project; only answers are written.

    python tests/references/agreement.py
"""

import gzip
import json
from functools import partial
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
SHARED = HERE.parents[2] / "shared" / "data"
SCALE = [1.0, 2.0, 3.0, 4.0, 5.0]


def seeded(n: int, raters: int, seed: int, *, missing: float = 0.0, top: float = 0.0) -> np.ndarray:
    """Ratings (n, raters) 1 to 5 of a shared trait; the tests draw the same ones from here."""
    rng = np.random.default_rng(seed)
    trait = rng.normal(size=(n, 1)) + top
    ratings = np.clip(np.rint(3.0 + trait + rng.normal(0.0, 0.7, (n, raters))), 1, 5)
    ratings[rng.random(ratings.shape) < missing] = np.nan
    return ratings


def tables() -> dict[str, np.ndarray]:
    """The tables by name: some of them awkward, some of people (None where they are not on this
    machine).
    """
    found = {
        "plain": seeded(60, 2, 1),
        "three": seeded(40, 3, 2),
        "missing": seeded(50, 4, 3, missing=0.3),
        "skewed": seeded(40, 2, 4, top=2.0),
        "empty cells": np.array([[1, 1], [5, 5], [1, 5], [5, 5], [1, 1], [5, 1], [5, 5.0]]),
        "two items": np.array([[1, 2], [4, 4.0]]),
        "one category": np.full((6, 2), 3.0),
    }
    if SHARED.is_dir():
        lines = (SHARED / "hanna" / "human96.jsonl").read_text("utf-8").splitlines()
        found["hanna"] = np.array(
            [r for line in lines for r in json.loads(line)["ratings"].values()], dtype=np.float64
        )
        with gzip.open(
            SHARED / "summeval" / "summac_summeval.json.gz", "rt", encoding="utf-8"
        ) as file:
            found["summeval"] = np.array(
                [one["annotations"] for one in json.load(file).values()], dtype=np.float64
            )
    return found


def of_two(one: np.ndarray, other: np.ndarray) -> dict[str, float | None]:
    """Two raters without gaps."""
    answers: dict[str, float | None] = {}
    for name, weights in (
        ("kappa", None),
        ("kappa_linear", "linear"),
        ("kappa_quadratic", "quadratic"),
    ):
        value = cohen_kappa_score(
            one.astype(int), other.astype(int), labels=[1, 2, 3, 4, 5], weights=weights
        )
        answers[name] = None if np.isnan(value) else float(value)
    answers["tau_b"] = float(kendalltau(one, other)[0]) if np.ptp(one) and np.ptp(other) else None
    both = np.column_stack([one, other])
    return answers | gwet(both) | alphas(both)


def gwet(
    ratings: np.ndarray, kind: str = "gwet", names: tuple[str, ...] = ("ac1", "ac2")
) -> dict[str, float | None]:
    weights = ("identity", "quadratic") if len(names) == 2 else ("identity", "linear", "quadratic")
    made = (
        CAC(pd.DataFrame(ratings), weights=each, categories=SCALE, digits=15) for each in weights
    )
    values = (float(getattr(one, kind)()["est"]["coefficient_value"]) for one in made)
    return dict(zip(names, values, strict=True))


def alphas(ratings: np.ndarray) -> dict[str, float | None]:
    if np.nanmax(ratings) == np.nanmin(ratings):
        return dict.fromkeys(("alpha_nominal", "alpha_ordinal", "alpha_interval"))
    alpha = partial(krippendorff.alpha, reliability_data=ratings.T, value_domain=SCALE)
    return {
        f"alpha_{level}": float(alpha(level_of_measurement=level))
        for level in ("nominal", "ordinal", "interval")
    }


def of_panel(ratings: np.ndarray) -> dict[str, float | None]:
    """Several raters: Gwet's and Krippendorff's; Fleiss' and intraclass ones where none is
    missing.
    """
    several = ratings[np.isfinite(ratings).sum(axis=1) > 1]
    answers = alphas(several) | gwet(several)
    if np.nanmax(several) > np.nanmin(several):
        answers |= gwet(several, "fleiss", ("kappa", "kappa_linear", "kappa_quadratic"))
    if np.isfinite(several).all() and len(several) > 4 and np.ptp(several):
        n, k = several.shape
        index = {
            "item": np.repeat(np.arange(n), k),
            "rater": np.tile(np.arange(k), n),
            "score": several.ravel(),
        }
        table = pingouin.intraclass_corr(
            pd.DataFrame(index), targets="item", raters="rater", ratings="score"
        )
        values = dict(zip(table["Type"].str.replace(" ", ""), table["ICC"], strict=True))
        answers |= {
            "icc2_1": values["ICC(A,1)"],
            "icc2_k": values["ICC(A,k)"],
            "icc3_1": values["ICC(C,1)"],
        }
    return answers


if __name__ == "__main__":
    import krippendorff
    import pandas as pd
    import pingouin
    from irrCAC.raw import CAC
    from scipy.stats import kendalltau
    from sklearn.metrics import cohen_kappa_score

    answers = {}
    for name, ratings in tables().items():
        whole = ratings[np.isfinite(ratings[:, :2]).all(axis=1)]
        answers[name] = {"two": of_two(whole[:, 0], whole[:, 1]), "panel": of_panel(ratings)}
    (HERE / "agreement.json").write_text(json.dumps(answers, indent=1) + "\n", encoding="utf-8")
