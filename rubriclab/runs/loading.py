"""Load a study file with its data and rubric, and plan it.

Data, rubric and prompts are files beside the study file, published data, or the lab's own sample.
"""

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any

from rubriclab.data.answers_per_row import one_answer_a_row
from rubriclab.data.items import columns_sentence, guess_columns, items_of
from rubriclab.data.limits import MAX_PLAIN, checked_file, names_file
from rubriclab.data.published import published
from rubriclab.data.rubrics import read_rubric, rubric_of
from rubriclab.data.sample import presets, sample, sample_rubric
from rubriclab.data.tables import Table, as_list, read_table
from rubriclab.judges.kinds import Functions, judge_named
from rubriclab.judges.python import function_settings, with_code
from rubriclab.judges.weights import with_weights
from rubriclab.logs.ask_again import Logged, from_log
from rubriclab.logs.log import KNOWN, Log, read_log
from rubriclab.logs.unknown import unknown_log, unknown_table
from rubriclab.model.data import Comparison, Criterion, DataSet, Item, Option, Rubric
from rubriclab.model.judge import JudgeSettings, read_options
from rubriclab.model.study import (
    DataPart,
    DesignPart,
    PromptPart,
    RubricPart,
    Study,
    read_prompt,
    read_study,
    validated,
)
from rubriclab.model.text import LabError, look_alike, shorten
from rubriclab.store.read import Reader
from rubriclab.study.examples import examples_of_table
from rubriclab.study.from_text import SHORT, Pasted, from_text, locate, messages_of
from rubriclab.study.plan import Plan, plan
from rubriclab.study.subjects import PROTOCOLS

DATA_ENDINGS = (".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".parquet", ".xlsx", ".eval")
SEVERAL = {"responses", "pairs", "lists"}
"""Axes that need several answers to a prompt. Of the lab's samples only the drafts have them."""
Sources = list[tuple[DataSet, Rubric]]


class Folder:
    """The files that a study names, beside it. Set up's are those that were uploaded.

    version: changes when the content of the files does.
    """

    version = 0

    def __init__(self, path: Path = Path()) -> None:
        self.path = path
        self.datasets: dict[str, DataSet] = {}
        self._last: tuple[object, tuple[DataSet, Rubric]] | None = None

    def table(self, name: str) -> Table:
        path = self.path / name
        return read_table(path, path.name)

    def keep(self, part: DataPart, dataset: DataSet) -> None:
        """Use a data set (of a run that is asked again, of a log) instead of ``part``'s file."""
        self.datasets[_origin(part)] = dataset

    def kept(self, part: DataPart) -> DataSet | None:
        """Return the items of a data set that needs no file."""
        return self.datasets.get(_origin(part))

    def drop(self, part: DataPart) -> None:
        """Use ``part``'s file again, and no longer a data set kept in its place."""
        self.datasets.pop(_origin(part), None)

    def rubric(self, name: str) -> Rubric:
        path = self.path / name
        return read_rubric(path, path.name)

    def prompt(self, name: str) -> str:
        """Return the text of a prompt or of a prompt file, byte for byte."""
        path = checked_file(self.path / name, MAX_PLAIN)
        try:
            return path.read_bytes().decode("utf-8")
        except UnicodeDecodeError:
            raise LabError(
                f"“{shorten(path.name)}” is not UTF-8 text. Save the prompt as UTF-8."
            ) from None

    def published(self, part: DataPart) -> tuple[DataSet, Rubric]:
        """Return the items and the rubric of ``published``, read once for both.

        ``columns = { human = ... }`` takes another model's scores as ratings.
        """
        gold = tuple(as_list(part.columns.get("human")))
        key = (part.published, part.files, gold, self.version)
        if self._last is None or self._last[0] != key:
            tables = tuple(map(self.table, part.files))
            self._last = key, published(str(part.published), tables, gold)
        return self._last[1]


def _origin(part: DataPart) -> str:
    """Return where the items of a data set come from, whatever is drawn of them."""
    if part.sample:
        return ""
    return part.model_dump_json(include={"file", "published", "files", "columns"})


def plan_of_file(path: str | Path, **options: Any) -> Plan:
    """Return the plan of a study file, a preset or a log; ``read_sources`` takes the options."""
    study, (first, *more), folder = read_sources(path, **options)
    return plan(study, *first, more, wordings_of(study, Folder(folder)))


def read_sources(
    path: str | Path,
    *,
    items: int | None = None,
    judged_by: tuple[str, ...] = (),
    key_env: str | None = None,
    drop: tuple[str, ...] = (),
    trust: bool = False,
    functions: Functions | None = None,
) -> tuple[Study, Sources, Path]:
    """Return (study, each data set with its rubric, folder).

    ``path`` is a study file, the name of a preset, ``demo``, or a log with prompts.

    Args:
        items: use only the first so many items.
        judged_by: judges instead of the study's, see ``judge_named``; ``key_env`` is their key's.
        drop: judges that are left out.
        trust: own code may run that a study names by its hash.
        functions: a notebook's own code, each instead of the judge of its name, or one more judge.

    Raises LabError for whatever the file, its data or its rubric cannot be.
    """
    named = presets().get(str(path), Path(path))
    folder = named.parent
    files = Folder(folder)
    study = _read_study(path, named, items, files)
    if str(path) == "demo":
        folder = Path.cwd()
    if judged_by:
        study = _judged_by(study, judged_by, key_env)
    judges = _kept_judges(study, drop)
    for judge in judges:
        if judge.simulated or judge.about.package:
            read_options(judge.about.options, judge)
    own = {name: function_settings(name, function) for name, function in (functions or {}).items()}
    if own and "judges" not in study.model_fields_set:
        judges = ()  # the default one was never asked for
    named_judges = [
        with_code(j, folder, trust=trust)
        if j.about.runs_code and j.name not in own
        else with_weights(j)
        for j in judges
    ]
    judges = tuple(own.pop(judge.name, judge) for judge in named_judges) + tuple(own.values())
    study = with_examples_read(study.model_copy(update={"judges": judges}), files)
    study = with_prompts(study, files)
    sources = []
    for number in range(len(study.data)):
        rubric = rubric_of_part(study, number, files)
        dataset = dataset_of(study, number, files, rubric)
        if items is not None:
            dataset = replace(dataset, items=dataset.items[: max(items, 1)])
        sources.append((dataset, rubric))
    return study, sources, folder


def _read_study(path: str | Path, named: Path, items: int | None, files: Folder) -> Study:
    """Return the study of a file, a preset, a log or the lab's own sample."""
    if str(path) == "demo":
        # The sample's answers judged by the small embedded model, options in every balanced order.
        name = "Sample" if items is None else f"Sample, {items} answers"
        sample = (DataPart(sample=True),)
        # Like a study of Set up: it asks no more once the answer is clear.
        return Study(name=name, data=sample, design=DesignPart(stop="known"))
    if not names_file(path):
        return read_study(named)
    if Path(path).suffix not in ("", ".toml"):
        log = read_log(Path(path))
        if log:
            return _study_of_log(log, files)
    if PurePath(path).suffix.lower() in DATA_ENDINGS:
        raise LabError(
            f"“{shorten(PurePath(path).name)}” is not a study, and not a log of judgments with "
            "their prompts. Name a study file (TOML) that has it as [[data]] file. The lab reads "
            f"these logs: {', '.join(KNOWN)}."
        )
    return read_study(named)


def _study_of_log(log: Log, files: Folder) -> Study:
    """Return the study that asks a log's prompts in other orders; ``files`` keeps its items."""
    rows: list[Any] = log.frame.to_dict("records")
    logged = []
    for row in rows:
        messages = messages_of(row["messages"]) if row["messages"] else ()
        logged.append(Logged(messages, row["reply"], row))
    return from_log(log.name, logged, files.keep, pairs=log.kind == "pairs")


def _judged_by(study: Study, names: tuple[str, ...], key_env: str | None) -> Study:
    """Return the study with these judges instead of its own."""
    judges = [judge_named(name, key_env) for name in names]
    if len({look_alike(judge.name) for judge in judges}) < len(judges):
        raise LabError("--judge names one model twice. Name judges of two servers in a study file.")
    return study.model_copy(update={"judges": tuple(judges)})


def _kept_judges(study: Study, drop: tuple[str, ...]) -> tuple[JudgeSettings, ...]:
    """Return the study's judges without those to drop. Raises LabError if none is left."""
    names = [judge.name for judge in study.judges]
    for name in sorted(set(drop) - set(names)):
        raise LabError(
            f"--drop {name}: the study has no such judge. Its judges are {', '.join(names)}."
        )
    judges = tuple(judge for judge in study.judges if judge.name not in drop)
    if not judges:
        raise LabError("--drop leaves no judge. Keep at least one.")
    return judges


def with_prompts(study: Study, files: Folder) -> Study:
    """Return the study with the prompts that it names read into it.

    A pasted prompt becomes a template, with its own list as the rubric. Raises LabError for files
    that are not prompts, and for a pasted one that is ambiguous.
    """
    part = study.prompt
    if part is None or part.templates:
        return study
    changes: dict[str, Any] = {}
    if part.files:
        prompts = tuple(read_prompt(files.prompt(name), PurePath(name).name) for name in part.files)
        names = tuple(prompt.name for prompt in prompts)
        vary = study.design.vary.model_copy(update={"prompt": names if len(names) > 1 else ()})
        changes["design"] = study.design.model_copy(update={"vary": vary})
    else:
        pasted = pasted_prompt(study, files.prompt(part.pasted), files)
        prompts = (pasted.prompt,)
        if pasted.rubric is not None:
            changes["rubric"] = RubricPart(**pasted.rubric.document())
    return study.model_copy(
        update=changes | {"prompt": validated(PromptPart, {"templates": prompts})}
    )


def with_examples_read(study: Study, files: Folder) -> Study:
    """Return the study with the examples of its file written into it.

    Raises LabError for a file that holds no examples.
    """
    part = study.examples
    if part is None or not part.file:
        return study
    return study.model_copy(update={"examples": examples_of_table(files.table(part.file))})


def pasted_prompt(study: Study, text: str, files: Folder) -> Pasted:
    """Return what ``[prompt]`` makes of a pasted text and the row of the first data set it shows.

    If no row is named, the one whose texts are in the prompt is taken. Raises LabError if there is
    not exactly one.
    """
    part, axis = study.prompt or PromptPart(pasted="-"), study.design.axes[0]
    named = study.data[0].rubric or study.rubric
    rubric = rubric_of_part(study, 0, files) if named or study.data[0].published else None
    items = dataset_of(study, 0, files, rubric or sample_rubric()).items
    if part.row is not None and part.row > len(items):
        raise LabError(
            f"[prompt] row is {part.row}, and the data have {len(items):,} rows. Use the number of "
            "a row."
        )
    if part.row:
        rows = [items[part.row - 1]]
    else:
        # Short answers (“Yes”) are in every prompt, and say nothing.
        rows = [
            item for item in items if len(item.response) >= SHORT and locate(text, item.response)
        ]
    if axis in ("pairs", "lists"):
        rows = _shown_comparisons(study, text, items, rows, rubric or sample_rubric())
    elif not part.row:
        rows = _best_shown(text, rows)
    if len(rows) != 1:
        which = f"The texts of {len(rows)} rows are" if rows else "The texts of no row are"
        raise LabError(
            f"{which} in this prompt. Set row in [prompt] to the one that it was sent for."
        )
    return from_text(text, rows[0], axis, rubric, part, study.examples)


def _shown_comparisons(
    study: Study, text: str, items: Sequence[Item], rows: Sequence[Item], rubric: Rubric
) -> list[Item]:
    """Return the comparisons about any of ``rows`` whose answers are all in the prompt."""
    axis = study.design.axes[0]
    own = study.design.model_copy(update={"reorder": axis})
    made = PROTOCOLS[axis].items(DataSet("pasted", tuple(items)), rubric, own)[0]
    named = {item.item_id for item in rows}
    shown: list[Item] = []
    for each in made:
        if not isinstance(each, Comparison) or named.isdisjoint(
            answer.item_id for answer in each.answers
        ):
            continue
        if all(locate(text, answer.response) for answer in each.answers):
            shown.append(each)
    return shown


def _best_shown(text: str, rows: Sequence[Item]) -> list[Item]:
    """Return the rows of which the most texts are in the prompt.

    Several answers may be the same. Of rows whose texts in the prompt are the same, the first one
    is taken.
    """
    by_texts = dict[frozenset[str], Item]()
    for item in rows:
        texts = {item.instruction, item.reference, *item.columns.values()}
        shown = frozenset(part for part in texts if part and locate(text, part))
        by_texts.setdefault(shown, item)
    most = max(map(len, by_texts), default=0)
    return [item for texts, item in by_texts.items() if len(texts) == most]


def dataset_of(study: Study, number: int, files: Folder, rubric: Rubric) -> DataSet:
    """Return the items of ``[[data]]``, at most ``take`` of them.

    Columns that the part does not name are guessed.
    """
    part = study.data[number]
    several = not SEVERAL.isdisjoint(study.design.axes)
    kept = files.kept(part)
    if kept is not None:
        dataset = kept
    elif part.sample:
        dataset = sample(drafts=several)
    elif part.published:
        dataset = _published_items(part, files, rubric)
    else:
        listed = study.examples is not None and bool(study.examples.column)
        further = study.prompt is not None or listed
        dataset = _items_of_file(part, files, rubric, further=further)
    if part.name:
        dataset = replace(dataset, name=part.name)
    if part.candidates:
        dataset = _of_candidates(dataset, part.candidates)
    if part.take is None:
        return dataset
    return drawn_items(dataset, part.take, part.seed, whole_prompts=several)


def _published_items(part: DataPart, files: Folder, rubric: Rubric) -> DataSet:
    """Return published items: those under a criterion of the rubric, or all if there are none."""
    dataset = files.published(part)[0]
    criteria = {criterion.name for criterion in rubric.criteria}
    known = tuple(
        item for item in dataset.items if item.criterion is None or item.criterion in criteria
    )
    return replace(dataset, items=known or dataset.items)


def _items_of_file(part: DataPart, files: Folder, rubric: Rubric, *, further: bool) -> DataSet:
    """Return the items of a file. ``further``: with its other columns, for a prompt to show."""
    given = files.table(part.file)
    if not part.columns.get("response"):
        tool = unknown_table(given)
        if tool:
            raise unknown_log(given.name, tool, KNOWN)
    table = one_answer_a_row(given, part.columns)
    guess = guess_columns(table, rubric)
    columns = guess.columns | part.columns
    notes = [table.note] if table.note else []
    if "human" in guess.reasons and "human" not in columns:
        notes.append(f"{guess.reasons['human']}.")  # why a column of people's scores was not taken
    dataset = items_of(
        table, columns, name=PurePath(part.file).stem, further=further, unrated=part.unrated
    )
    if part.unrated:
        marks = ", ".join(f"“{shorten(mark, 20)}”" for mark in part.unrated)
        notes.append(f"Among human scores, {marks} counts as no rating.")
    guessed = {role: why for role, why in guess.reasons.items() if role not in part.columns}
    taken = columns_sentence(table, columns, guessed)
    return replace(dataset, note=" ".join(notes), taken=taken)


def _of_candidates(dataset: DataSet, candidates: Sequence[str]) -> DataSet:
    """Return the items of these candidates. Raises LabError for one that has none."""
    chosen = tuple(item for item in dataset.items if item.candidate in candidates)
    missing = set(candidates) - {item.candidate for item in chosen}
    if missing:
        raise LabError(
            f"“{dataset.name}” has no candidate “{shorten(sorted(missing)[0])}”. Check the "
            "spelling."
        )
    return replace(dataset, items=chosen)


def study_of_import(store: Reader, id: str, files: Folder) -> Study:
    """Return the study that asks the prompts of an imported run in other orders.

    ``files`` keeps its items. Raises LabError.
    """
    info, rated = store.run(id), store.ratings(id)
    prompts: dict[int, str] = dict(store.calls(id)[["call", "prompt"]].itertuples(index=False))
    logged = []
    for row in store.judgments(id, limit=None).to_dict("records"):
        first, _, second = row["ordering"].partition("|")
        about = {
            "item_id": row["item_id"],
            "first": first,
            "second": second,
            "ratings": rated.get(row["item"]),
        }
        logged.append(Logged(messages_of(prompts[row["call"]] or ""), row["reply"] or "", about))
    return from_log(info.name, logged, files.keep, pairs=info.reorder == "pairs")


def drawn_items(dataset: DataSet, take: int, seed: int, *, whole_prompts: bool = False) -> DataSet:
    """Return at most ``take`` items drawn by the seed, in the data's own order.

    Each prompt gives one answer before any gives a second one: answers to one prompt say less
    together than as many prompts do. All criteria of one text stay together. ``whole_prompts``:
    a prompt's answers are drawn together, for designs that show several answers in a call.
    """
    prompts: dict[str, dict[str, list[int]]] = {}
    for code, item in enumerate(dataset.items):
        prompt = item.prompt or item.block or f"item {item.item_id}"
        text = "" if whole_prompts else item.block or item.item_id
        prompts.setdefault(prompt, {}).setdefault(text, []).append(code)
    drawn = random.Random(seed)
    order = drawn.sample(sorted(prompts), len(prompts))
    texts = [drawn.sample(sorted(prompts[name]), len(prompts[name])) for name in order]
    kept: list[int] = []
    for turn in range(max(map(len, texts))):
        for name, own in zip(order, texts, strict=True):
            codes = prompts[name][own[turn]] if turn < len(own) else []
            if len(kept) + len(codes) <= take or not kept:
                kept += codes
    return replace(dataset, items=tuple(dataset.items[code] for code in sorted(kept[:take])))


def rubric_of_part(study: Study, number: int, files: Folder) -> Rubric:
    """Return the rubric of a data set: its own, else the first wording, else that of ``[rubric]``.

    A study that names none gets the lab's own for the sample, that of published data, or none for a
    preference.
    """
    data, axes = study.data[number], study.design.axes
    part = data.rubric or study.rubric
    if study.design.vary.wording and data.rubric is None:
        name = study.design.vary.wording[0]
        if part is not None and part.file and part.file != name:
            raise LabError(
                f"[design.vary] wording begins with “{shorten(name)}”, but [rubric] file is "
                f"“{shorten(part.file)}”. The first wording is the study's own. Name that file "
                "first, or leave [rubric] out."
            )
        return wordings_of(study, files)[name]
    if part is None and data.published:
        return files.published(data)[1]
    if part is None:
        if {*axes} <= {"pairs", "lists"}:
            return Rubric("Preference", (Criterion("Preference", (Option(1), Option(2))),))
        if not data.sample:
            raise LabError('The study has no [rubric]. Add one, for example file = "rubric.yaml".')
        return sample_rubric("writing" if "criteria" in axes else "helpfulness")
    return _written(part, study.name, files)


def wordings_of(study: Study, files: Folder) -> dict[str, Rubric]:
    """Return the rubrics that the factor ``wording`` names: those of ``[rubrics]``, else files."""
    wordings = {}
    for name in study.design.vary.wording:
        part = study.rubrics.get(name) or RubricPart(file=name)
        wordings[name] = _written(part, name, files)
    return wordings


def _written(part: RubricPart, name: str, files: Folder) -> Rubric:
    if part.file:
        return files.rubric(part.file)
    return rubric_of({"name": part.name or name, "criteria": part.criteria})
