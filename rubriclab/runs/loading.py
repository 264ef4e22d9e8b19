"""A study file in, its plan out: data and rubric are read from beside the file (or are the lab's
own sample, or published data).
"""

import random
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
from rubriclab.logs.log import KNOWN, read_log
from rubriclab.logs.unknown import unknown_log, unknown_table
from rubriclab.model.data import Comparison, Criterion, DataSet, Item, Option, Rubric
from rubriclab.model.judge import read_options
from rubriclab.model.study import (
    DataPart,
    PromptPart,
    RubricPart,
    Study,
    read_prompt,
    read_study,
    validated,
)
from rubriclab.model.text import LabError, look_alike, shorten
from rubriclab.store.read import Reader
from rubriclab.study.from_text import SHORT, Pasted, from_text, locate, messages_of
from rubriclab.study.plan import Plan, plan
from rubriclab.study.subjects import PROTOCOLS

DATA_ENDINGS = (".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".parquet", ".xlsx", ".eval")
SEVERAL = {"responses", "pairs", "lists"}
"""Axes that want several answers to a prompt: of the lab's own, its drafts."""
Sources = list[tuple[DataSet, Rubric]]


class Folder:
    """The files that a study names, where they lie beside it. Set up's are those that were
    uploaded.

    ``version`` changes with what the files hold.
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
        """Take a data set (of a run that is asked again, of a log) in place of the file that
        ``part`` names.
        """
        self.datasets[_origin(part)] = dataset

    def kept(self, part: DataPart) -> DataSet | None:
        """The items of a data set that need no file."""
        return self.datasets.get(_origin(part))

    def rubric(self, name: str) -> Rubric:
        path = self.path / name
        return read_rubric(path, path.name)

    def prompt(self, name: str) -> str:
        """The text of a prompt or of a prompt file, byte for byte."""
        path = checked_file(self.path / name, MAX_PLAIN)
        try:
            return path.read_bytes().decode("utf-8")
        except UnicodeDecodeError:
            raise LabError(
                f"“{shorten(path.name)}” is no UTF-8 text: save the prompt as UTF-8."
            ) from None

    def published(self, part: DataPart) -> tuple[DataSet, Rubric]:
        """The items and the rubric of ``published``, read once for both.

        ``columns = { human = ... }`` takes another model's scores as ratings.
        """
        gold = tuple(as_list(part.columns.get("human")))
        key = (part.published, part.files, gold, self.version)
        if self._last is None or self._last[0] != key:
            self._last = (
                key,
                published(str(part.published), tuple(map(self.table, part.files)), gold),
            )
        return self._last[1]


def _origin(part: DataPart) -> str:
    """Where the items of a data set come from, whatever is drawn of them."""
    return (
        ""
        if part.sample
        else part.model_dump_json(include={"file", "published", "files", "columns"})
    )


def plan_of_file(path: str | Path, **options: Any) -> Plan:
    """The plan of a study file, of a preset or of the lab's own sample: see ``read_sources``, which
    takes the options.
    """
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
    """(study, each data set with its rubric, folder) of a study file, a preset by its name,
    ``demo``, or a log with prompts.

    ``items``: only the first so many items; ``judged_by``: in place of the study's, see
    ``judge_named``; ``drop``: judges that are left out; ``trust``: own code may run that a study
    names by its hash; ``functions``: a notebook's, each in place of the judge of its name, or one
    more judge. Raises LabError for whatever the file, its data or its rubric cannot be.
    """
    folder, log = presets().get(str(path), Path(path)).parent, None
    files = Folder(folder)
    if str(path) == "demo":
        # The sample's answers judged by the small embedded model, options in every balanced order.
        name = "Sample" if items is None else f"Sample, {items} answers"
        study, folder = Study(name=name, data=(DataPart(sample=True),)), Path.cwd()
    elif (
        Path(path).suffix not in ("", ".toml")
        and names_file(path)
        and (log := read_log(Path(path)))
    ):
        rows: list[Any] = log.frame.to_dict("records")
        logged = [
            Logged(messages_of(row["messages"]) if row["messages"] else (), row["reply"], row)
            for row in rows
        ]
        study = from_log(log.name, logged, files.keep, pairs=log.kind == "pairs")
    elif names_file(path) and PurePath(path).suffix.lower() in DATA_ENDINGS:
        raise LabError(
            f"“{shorten(PurePath(path).name)}” is no study and no log of judgments with its "
            f"prompts. Name a study file (TOML) that has it as [[data]] file. These logs are "
            f"read: {', '.join(KNOWN)}."
        )
    else:
        study = read_study(presets().get(str(path), Path(path)))
    if judged_by:
        asked = [judge_named(name, key_env) for name in judged_by]
        if len({look_alike(judge.name) for judge in asked}) < len(asked):
            raise LabError(
                "--judge names one model twice. Name judges of two servers in a study file."
            )
        study = study.model_copy(update={"judges": tuple(asked)})
    unknown = set(drop) - {judge.name for judge in study.judges}
    if unknown:
        known = ", ".join(judge.name for judge in study.judges)
        raise LabError(f"--drop {sorted(unknown)[0]}: the study has no such judge; it has {known}.")
    judges = tuple(judge for judge in study.judges if judge.name not in drop)
    if not judges:
        raise LabError("--drop leaves no judge: keep at least one.")
    for judge in judges:
        if judge.simulated or judge.about.package:
            read_options(judge.about.options, judge)
    own = {name: function_settings(name, function) for name, function in (functions or {}).items()}
    if own and "judges" not in study.model_fields_set:
        judges = ()  # the default one was never asked for
    named = [
        with_code(j, folder, trust=trust)
        if j.about.runs_code and j.name not in own
        else with_weights(j)
        for j in judges
    ]
    judges = tuple(own.pop(judge.name, judge) for judge in named) + tuple(own.values())
    sources = []
    study = with_prompts(study.model_copy(update={"judges": judges}), files)
    for number in range(len(study.data)):
        rubric = rubric_of_part(study, number, files)
        dataset = dataset_of(study, number, files, rubric)
        if items is not None:
            dataset = replace(dataset, items=dataset.items[: max(items, 1)])
        sources.append((dataset, rubric))
    return study, sources, folder


def with_prompts(study: Study, files: Folder) -> Study:
    """The study with its own prompts read and in it; a pasted one is made a template, with its own
    list as the rubric.

    Raises LabError for prompts that are none, and where a pasted one cannot be taken apart for
    sure.
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


def pasted_prompt(study: Study, text: str, files: Folder) -> Pasted:
    """What ``[prompt]`` makes of a pasted text and a row of the first data set; the row that it
    shows where none is named.
    """
    part, axis = study.prompt or PromptPart(pasted="-"), study.design.axes[0]
    named = study.data[0].rubric or study.rubric
    rubric = rubric_of_part(study, 0, files) if named or study.data[0].published else None
    items = dataset_of(study, 0, files, rubric or sample_rubric()).items
    if part.row is not None and part.row > len(items):
        raise LabError(f"[prompt] row is {part.row}; the data have {len(items):,} rows.")
    rows = (
        [items[part.row - 1]]
        if part.row
        else [item for item in items if len(item.response) >= SHORT and locate(text, item.response)]
    )
    if axis in ("pairs", "lists"):
        dataset, own = DataSet("pasted", items), study.design.model_copy(update={"reorder": axis})
        made = PROTOCOLS[axis].items(dataset, rubric or sample_rubric(), own)[0]
        shown = {item.item_id for item in rows}
        near = [
            each
            for each in made
            if isinstance(each, Comparison) and shown & {answer.item_id for answer in each.answers}
        ]
        rows = [
            each for each in near if all(locate(text, answer.response) for answer in each.answers)
        ]
    elif not part.row:
        # Answers may be alike: the rows of which the most texts stand here, and of rows that are
        # alike in these the first.
        standing = dict[frozenset[str], Item]()
        for item in rows:
            parts = {item.instruction, item.reference, *item.columns.values()}
            standing.setdefault(
                frozenset(part for part in parts if part and locate(text, part)), item
            )
        most = max(map(len, standing), default=0)
        rows = [item for parts, item in standing.items() if len(parts) == most]
    if len(rows) != 1:
        which = f"{len(rows)} rows of the data stand" if rows else "No row of the data stands"
        raise LabError(
            f"{which} in this prompt. Set row in [prompt] to the one that it was sent for."
        )
    return from_text(text, rows[0], axis, rubric, part)


def dataset_of(study: Study, number: int, files: Folder, rubric: Rubric) -> DataSet:
    """The items of ``[[data]]``: its file's columns guessed where the part does not name them, at
    most ``take`` of them.
    """
    part = study.data[number]
    if (kept := files.kept(part)) is not None:
        dataset = kept
    elif part.sample:
        dataset = sample(drafts=not SEVERAL.isdisjoint(study.design.axes))
    elif part.published:
        dataset = files.published(part)[0]
        known = [
            item
            for item in dataset.items
            if item.criterion in (None, *(c.name for c in rubric.criteria))
        ]
        dataset = replace(dataset, items=tuple(known) or dataset.items)
    else:
        given = files.table(part.file)
        if not part.columns.get("response") and (tool := unknown_table(given)):
            raise unknown_log(given.name, tool, KNOWN)
        table = one_answer_a_row(given, part.columns)
        guess, shown = guess_columns(table, rubric), study.prompt is not None
        columns = guess.columns | part.columns
        unused = (
            f"{guess.reasons['human']}."
            if "human" in guess.reasons and "human" not in columns
            else ""
        )
        dataset = items_of(table, columns, name=PurePath(part.file).stem, further=shown)
        guessed = {role: why for role, why in guess.reasons.items() if role not in part.columns}
        dataset = replace(
            dataset,
            note=" ".join(filter(None, [table.note, unused])),
            taken=columns_sentence(table, columns, guessed),
        )
    if part.name:
        dataset = replace(dataset, name=part.name)
    if part.candidates:
        chosen = tuple(item for item in dataset.items if item.candidate in part.candidates)
        missing = {*part.candidates} - {item.candidate for item in chosen}
        if missing:
            raise LabError(
                f"“{dataset.name}” has no candidate “{shorten(sorted(missing)[0])}”. Check the "
                f"spelling."
            )
        dataset = replace(dataset, items=chosen)
    if part.take is None:
        return dataset
    several = not SEVERAL.isdisjoint(study.design.axes)
    return drawn_items(dataset, part.take, part.seed, whole_prompts=several)


def study_of_import(store: Reader, id: str, files: Folder) -> Study:
    """The study that asks the prompts of an imported run in other orders; ``files`` keeps its
    items. Raises LabError.
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
    """The rubric of a data set of the study: its own, else the first wording, else that of
    ``[rubric]``.

    Where the study names none: the lab's own for the sample, that of published data, none for a
    preference.
    """
    data, axes = study.data[number], study.design.axes
    part = data.rubric or study.rubric
    if study.design.vary.wording and data.rubric is None:
        name = study.design.vary.wording[0]
        if part is not None and part.file and part.file != name:
            raise LabError(
                f"[design.vary] wording begins with “{shorten(name)}”, but [rubric] file is "
                f"“{shorten(part.file)}”. The "
                "first wording is the study's own: name it first, or leave [rubric] out."
            )
        return wordings_of(study, files)[name]
    if part is None and data.published:
        return files.published(data)[1]
    if part is None:
        if {*axes} <= {"pairs", "lists"}:
            return Rubric("Preference", (Criterion("Preference", (Option(1), Option(2))),))
        if not data.sample:
            raise LabError('The study has no [rubric]; give one, as file = "rubric.yaml".')
        return sample_rubric("writing" if "criteria" in axes else "helpfulness")
    return _written(part, study.name, files)


def wordings_of(study: Study, files: Folder) -> dict[str, Rubric]:
    """The rubrics that the factor ``wording`` names: those under ``[rubrics]``, else files."""
    named = {
        name: study.rubrics.get(name) or RubricPart(file=name) for name in study.design.vary.wording
    }
    return {name: _written(part, name, files) for name, part in named.items()}


def _written(part: RubricPart, name: str, files: Folder) -> Rubric:
    if part.file:
        return files.rubric(part.file)
    return rubric_of({"name": part.name or name, "criteria": part.criteria})
