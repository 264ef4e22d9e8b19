"""Scoring bias: every form of the judge's prompt beside the same baseline (method: section 6).

A *form* is an arm of a run on the axis of score options: a strategy (ascending, descending,
random order) under a variant (score IDs, a reference answer of some score, any other factor).
Forms are compared within one judge, data set and scale, read by read and item by item.
Failed judgments count as -1 in the distributions and nowhere else; agreement with gold takes
complete cases only, as everywhere in the lab.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from rubriclab.findings.choice import ChoiceModel, choice_of
from rubriclab.findings.effects import ALPHA, still_possible
from rubriclab.findings.frame import side_by_side, units
from rubriclab.findings.perturbation_groups import group_result
from rubriclab.findings.perturbation_results import Followed, Perturbation, PerturbationGroup, PerturbationResult, Shift
from rubriclab.findings.plain import picked, plain
from rubriclab.findings.prompt_forms import Form, form_said, forms_of, gold_of, varies_form
from rubriclab.findings.topic import Advice, DocumentPart, Json, Sentence, Topic
from rubriclab.model import RunData
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import listed
from rubriclab.stats import perturbation as stat
from rubriclab.stats.inference import Floats, Test, holm
from rubriclab.stats.verdict import Verdict


def perturbation(
    data: RunData, *, seed: int = 0, n_boot: int = 1_000, gold_judge: str | None = None
) -> PerturbationResult:
    """Every form of the prompt against its baseline, for every judge, data set and scale.

    Gold is the mean human rating, or the majority of ``gold_judge``'s reads. The baseline is
    the first arm read in ascending order (strategy "fixed"), else the first arm, which a
    warning then says. Raises LabError for a gold judge that the run does not have.
    """
    grouped = forms_of(data)
    gold, about = gold_of(data, grouped, gold_judge)
    unit = units(data.items, data.unit)
    drawn: dict[bytes, stat.Draws] = {}
    work = []
    for members in grouped:
        item = np.flatnonzero(np.sum([form.asked for form in members], axis=0))
        key = item.tobytes()  # judges of the same items share one draw
        if key not in drawn:
            drawn[key] = stat.Draws(unit.code[item], n_boot=n_boot, seed=seed)
        work.append(([form.on(item) for form in members], gold[item], drawn[key]))

    def result(one: tuple[list[Form], Floats, stat.Draws]) -> PerturbationGroup:
        own, mine, draws = one
        is_gold = own[0].arm.judge == gold_judge
        return group_result(data, own, mine, about, unit.kind, draws, judge_is_gold=is_gold, seed=seed)

    groups = side_by_side(result, work)
    followed = _followed(data, seed)
    warnings = [] if groups else [tr("This run has no judgments of score options to compare.")]
    if groups and all(len(group.perturbations) == 1 for group in groups):
        warnings.append(tr("This run has one form of the prompt only: there is nothing to compare."))
    corrected, n_tests = _corrected(groups)
    return PerturbationResult(corrected, followed, n_tests, n_boot, seed, tuple(warnings))


def _corrected(groups: Sequence[PerturbationGroup]) -> tuple[tuple[PerturbationGroup, ...], int]:
    """Holm over the forms of each judge, for each kind of test on its own.

    What other judges do changes nothing, nor does a form that no reply could be read of: its
    p-values are NaN, which are not counted.
    """
    done: dict[int, Perturbation] = {}
    tested = 0
    for judge in dict.fromkeys(group.judge for group in groups):
        mine = [group for group in groups if group.judge == judge]
        rows = [(row, row.shift) for group in mine for row in group.perturbations if row.shift]
        adjusted = np.stack([holm(p) for p in _p_values(rows)], axis=1)
        for (row, shift), p in zip(rows, adjusted.tolist(), strict=True):
            new = replace(shift, p_holm=p[0], excess_p_holm=p[1])
            agreement = replace(row.agreement, pearson_p_holm=p[2], spearman_p_holm=p[3])
            done[row.code] = replace(row, shift=new, agreement=agreement)
        tested += int(np.isfinite(adjusted[:, 0]).sum())
    return tuple(
        replace(g, perturbations=tuple(done.get(row.code, row) for row in g.perturbations)) for g in groups
    ), tested


def _p_values(rows: Sequence[tuple[Perturbation, Shift]]) -> list[Floats]:
    """Of distributions, excess flips, r and rho, one a form."""
    nan = float("nan")
    kinds = (
        [shift.test.p for _, shift in rows],
        [shift.excess_test.p for _, shift in rows],
        [d.p if (d := row.agreement.delta_pearson) else nan for row, _ in rows],
        [d.p if (d := row.agreement.delta_spearman) else nan for row, _ in rows],
    )
    return [np.array(p, dtype=np.float64) for p in kinds]


# ---------------------------------------------------------------- position against label


def _followed(data: RunData, seed: int) -> tuple[Followed, ...]:
    """The choice model of every arm in which labels moved against the scores."""
    models = [
        choice_of(data, code, arm, judgments, leanings=False, seed=seed)
        for code, arm, judgments in data.by_arm()
        if arm.axis == "options" and len(judgments) and _labels_moved(data, judgments)
    ]
    followed = []
    for judge in dict.fromkeys(model.judge for model in models):
        mine = [model for model in models if model.judge == judge]
        tests = [test for model in mine for test in (model.position_test, model.label_test)]
        p = holm(np.array([_p(test) for test in tests])).reshape(-1, 2).tolist()
        followed += [_follow(model, *pair) for model, pair in zip(mine, p, strict=True)]
    return tuple(followed)


def _labels_moved(data: RunData, judgments: pd.DataFrame) -> bool:
    """Whether some label stood beside different scores within the arm."""
    beside: dict[str, object] = {}
    codes = np.flatnonzero(np.bincount(judgments["ordering"].to_numpy().astype(np.int64)))
    for code in codes.tolist():
        shown = data.orderings[code]
        for score, label in zip(shown.shown, shown.labels, strict=False):
            if beside.setdefault(label, score) != score:
                return True
    return False


def _p(test: Test | None) -> float:
    return test.p if test is not None else float("nan")


def _follow(model: ChoiceModel, position_p: float, label_p: float) -> Followed:
    place, beside = (
        float(np.std([level.log_odds for level in levels])) if levels else float("nan")
        for levels in (model.position, model.label)
    )
    shown = [_shown(p) for p in (position_p, label_p)]
    sentence = _follow_sentence(model.judge, shown[0], shown[1], place >= beside)
    return Followed(model, place, beside, position_p, label_p, shown[0], shown[1], sentence)


def _shown(p: float) -> Verdict:
    return "effect" if p < ALPHA else "undecided"


def _follow_sentence(judge: str, position: Verdict, label: Verdict, more: bool) -> str:
    if position == label == "effect":
        if more:
            return tr(
                "{judge} follows both the place of an option and the label beside it, the place more.", judge=judge
            )
        return tr("{judge} follows both the place of an option and the label beside it, the label more.", judge=judge)
    if position == "effect":
        return tr("{judge} follows the place of an option; the label is not shown to move it.", judge=judge)
    if label == "effect":
        return tr("{judge} follows the label; the place of an option is not shown to move it.", judge=judge)
    return tr("Neither the place nor the label is shown to move {judge}, and neither is ruled out.", judge=judge)


# ---------------------------------------------------------------- the topic


def perturbation_sentence(group: PerturbationGroup) -> str:
    """What the forms of the prompt do to this judge's mean score."""
    who = group.judge
    shifts = [(form_said(form.name), form.shift) for form in group.perturbations if form.shift]
    by = {
        verdict: [(name, shift.effect) for name, shift in shifts if shift.effect.verdict == verdict]
        for verdict in ("effect", "equivalent", "undecided")
    }
    parts = []
    if by["effect"]:
        moved = [
            tr("{name} ({estimate:+.2f} points)", name=name, estimate=moving.estimate) for name, moving in by["effect"]
        ]
        parts.append(tr("{who}'s scores shift with {moved}.", who=who, moved=listed(moved)))
    if by["equivalent"]:
        names, size = listed([name for name, _ in by["equivalent"]]), by["equivalent"][0][1].sesoi
        parts.append(
            tr("They do not move by as much as {size:g} points with {names}.", size=size, names=names)
            if parts
            else tr(
                "{who}'s scores do not move by as much as {size:g} points with {names}.",
                who=who,
                size=size,
                names=names,
            )
        )
    if by["undecided"]:
        names = listed([name for name, _ in by["undecided"]])
        parts.append(
            tr("Whether they shift with {names} is not settled.", names=names)
            if parts
            else tr("Whether {who}'s scores shift with {names} is not settled.", who=who, names=names)
        )
    return " ".join(parts)


def form_answer(judge: str, name: str, shift: Shift) -> str:
    """One form against the usual one, in points."""
    mean, name = shift.effect, form_said(name)
    if not np.isfinite(mean.estimate):
        return tr("No item got a score both with {name} and in the usual form.", name=name)
    if mean.verdict == "effect":
        said = (
            msg("Yes: with {name} {judge} scores {estimate:.2f} points higher.")
            if mean.estimate > 0
            else msg("Yes: with {name} {judge} scores {estimate:.2f} points lower.")
        )
        return tr(said, name=name, judge=judge, estimate=abs(mean.estimate))
    if mean.verdict == "equivalent":
        return tr(
            "No: with {name} {judge}'s mean score moves by less than {sesoi:g} points.",
            name=name,
            judge=judge,
            sesoi=mean.sesoi,
        )
    return tr("Not settled for {name}{reach}. More items would settle it.", name=name, reach=still_possible(mean))


def single_answer(name: str, shift: Shift) -> str:
    """What the form does to single items, beyond the judge's own noise."""
    name = form_said(name)
    if not np.isfinite(shift.single.estimate):
        return tr(
            "{flips:.0%} of scores differ with {name}, the judge's own noise included: repeat the reads to "
            "take it off.",
            flips=shift.flips,
            name=name,
        )
    return tr(
        "{flips:.0%} of scores differ with {name} where {own_flips:.0%} differ between two reads of the "
        "usual form; beyond noise they move {estimate:+.2f} points apart.",
        flips=shift.flips,
        name=name,
        own_flips=shift.own_flips,
        estimate=shift.single.estimate,
    )


def _advice(result: PerturbationResult) -> Iterator[Advice]:
    for _, group in _with_forms(result):
        of = group.judge, group.dataset, ""
        for form in group.perturbations:
            if form.shift is None:
                continue
            key, shift, name = f"form: {form.name}", form.shift, form_said(form.name)
            yield Advice(
                of,
                key,
                tr("Does the form “{name}” move scores?", name=name),
                form_answer(group.judge, form.name, shift),
                shift.effect,
                primary=True,
            )
            if shift.n_items:
                yield Advice(
                    of,
                    f"{key}, single items",
                    tr("Does “{name}” move single items?", name=name),
                    single_answer(form.name, shift),
                    shift.single,
                )
        for key, title, one in (
            ("stable form", tr("Is another form more stable?"), group.most_stable),
            ("best form", tr("Does another form agree better?"), group.best_agreement),
        ):
            if one.form is not None:
                yield Advice(of, key, title, one.sentence, one.gain)


def _with_forms(result: PerturbationResult) -> Iterator[tuple[str, PerturbationGroup]]:
    """The groups that have a form to compare, with what they are about."""
    for group in result.groups:
        if len(group.perturbations) > 1:
            yield f"{group.judge} · {group.dataset}", group


def _sentences(result: PerturbationResult) -> Iterator[Sentence]:
    return (Sentence(name, perturbation_sentence(group), 1) for name, group in _with_forms(result))


def _document(result: PerturbationResult, data: RunData) -> DocumentPart:
    del data
    shown = {
        "groups": [_group_json(group) for group in result.groups],
        "position_or_label": [_followed_json(one) for one in result.followed],
        **picked(result, "n_tests", "n_boot", "warnings"),
    }
    return DocumentPart(beside={"perturbations": shown})


def _followed_json(followed: Followed) -> Json:
    return {
        **picked(followed.model, "arm", "judge", "dataset", "strategy", "variant", "position", "label"),
        "shown": picked(followed, "position", "label"),
        **picked(followed, "position_spread", "label_spread", "position_p_holm"),
        **picked(followed, "label_p_holm", "sentence"),
        **picked(followed.model, "n_items", "n_informative", "warnings"),
    }


def _group_json(group: PerturbationGroup) -> Json:
    forms = []
    for form in group.perturbations:
        entry: Json = plain(form)
        entry |= {"arm": entry.pop("code"), "strategy": form.arm.strategy}
        forms.append(entry | {"variant": plain(dict(form.arm.variant.levels))})
    return {**plain(group), "perturbations": forms}


PERTURBATION = Topic(
    "perturbation",
    perturbation,
    title=msg("Scoring bias: the form of the prompt"),
    axes=frozenset({"options"}),
    applies=varies_form,
    document=_document,
    sentences=_sentences,
    advice=_advice,
)
