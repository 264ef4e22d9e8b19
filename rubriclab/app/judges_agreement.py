"""Draw which judges give the same answers."""

from rubriclab.app.judges_view import Several, View, numbers, show
from rubriclab.figures.choice_pictures import agreement_matrix, codes_of_judges

MAJORITY = ("majority_pc", "majority_pf", "majority_accuracy")


def has(several: Several) -> bool:
    """Return whether there are two judges whose calls can be compared."""
    rows = several.findings.select("judges_agree") or several.findings.select(
        "exact", side="judges"
    )
    return len(several.judges) > 1 and bool(rows)


def draw(several: Several) -> None:
    """Draw a cell for every two judges."""
    findings, dataset = several.findings, several.dataset
    if codes_of_judges(findings, dataset):
        shown = agreement_matrix(
            findings,
            dataset,
            ("judges_agree", "judges_agree_no_ties"),
            ("% of calls with the same answer", "the same without ties"),
        )
        show(several, shown, "agreement")
        numbers(several, "**Families of judges**", ("family_agreement", "family_difference"))
        numbers(several, "**The majority of all judges, as a judge**", MAJORITY)
    if findings.select("exact", side="judges"):
        shown = agreement_matrix(
            findings,
            dataset,
            ("exact", "kappa_quadratic"),
            ("% of answers with the same mean score, rounded", "kappa, quadratic weights"),
        )
        show(several, shown, "agreement-scores")


VIEW = View("agreement", "Agreement", has, draw)
