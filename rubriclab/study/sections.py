"""Cut a judge prompt into its sections, and put them into another order.

A line ``<!-- section rubric -->`` begins a section, which ends at the next such line. The text
after ``<!-- end of sections -->`` stays last, and the text before the first section stays first.
The lines themselves are never sent. Texts of items are filled in later, so none of them can be
taken for such a line.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rubriclab.model.study import SECTIONS, MessagePart, PromptFile
from rubriclab.model.text import LabError, shorten
from rubriclab.study.sandbox import names_in, names_set_in

END = "<!-- end of sections -->"
_PASTED_LINE_END = re.escape('{{ "\\r\\n" }}')
"""How a pasted prompt that has carriage returns is written as a template."""
_MARKER = re.compile(
    r"[ \t]*<!--[ \t]*(?:section\b(?P<name>[^>\n]{0,80}?)|(?P<end>end of sections))[ \t]*-->"
    rf"[ \t]*(?:\r?\n|{_PASTED_LINE_END})?",
    re.IGNORECASE,
)
_NEEDED = ("task", "answer", "rubric")
"""Sections without which a prompt cannot be cut. A prompt may show no reference answer."""


@dataclass(frozen=True)
class Cut:
    """A prompt cut at its markers.

    message: the index of the message that has the sections.
    before, after: the text of that message around them.
    pieces: the template of each section, by name, in the order of the file.
    """

    prompt: PromptFile
    message: int
    before: str
    pieces: Mapping[str, str]
    after: str

    def order(self, sections: Sequence[str]) -> tuple[str, ...]:
        """Return the prompt's own sections in the order of ``sections``, or as in the file."""
        return tuple(name for name in sections if name in self.pieces) or tuple(self.pieces)

    def arranged(self, sections: Sequence[str]) -> PromptFile:
        """Return the prompt with its sections in that order, without the markers."""
        middle = "".join(self.pieces[name] for name in self.order(sections))
        messages = list(self.prompt.messages)
        text = f"{self.before}{middle}{self.after}"
        messages[self.message] = messages[self.message].model_copy(update={"text": text})
        return self.prompt.model_copy(update={"messages": tuple(messages)})

    def apart(self) -> tuple[tuple[str, ...], PromptFile]:
        """Return the names of all pieces, and a prompt with each piece as a message of its own.

        ``before`` and ``after`` are called "" there.
        """
        texts = [("", self.before), *self.pieces.items(), ("", self.after)]
        messages = tuple(MessagePart(text=text) for _, text in texts)
        names = tuple(name for name, _ in texts)
        return names, self.prompt.model_copy(update={"messages": messages})


def cut(prompt: PromptFile) -> Cut | None:
    """Return the prompt cut at its markers, None if it has none.

    Raises LabError for a marker with an unknown name, for one that is there twice or in another
    message, for an empty section, and where a needed section is missing.
    """
    marked = [k for k, message in enumerate(prompt.messages) if _MARKER.search(message.text)]
    if not marked:
        return None
    if len(marked) > 1:
        raise fault(
            prompt,
            f"messages {marked[0] + 1} and {marked[1] + 1} both have sections. Put all sections "
            f"into one message: a section keeps the role of its message.",
        )
    text = prompt.messages[marked[0]].text
    markers = list(_MARKER.finditer(text))
    names = _names(prompt, markers)
    ends = [marker.start() for marker in markers[1:]] + [len(text)]
    pieces: dict[str, str] = {}
    after = ""
    for name, marker, end in zip(names, markers, ends, strict=True):
        piece = text[marker.end() : end]
        if name == END:
            after = piece
        elif not piece.strip():
            raise fault(prompt, f"section {name} is empty. Put its text below its marker.")
        else:
            pieces[name] = piece
    missing = [name for name in _NEEDED if name not in pieces]
    if missing:
        raise fault(
            prompt,
            f"section {missing[0]} is missing. Put <!-- section {missing[0]} --> on a line above "
            f"that part of the prompt.",
        )
    return Cut(prompt, marked[0], text[: markers[0].start()], pieces, after)


def _names(prompt: PromptFile, markers: Sequence[re.Match[str]]) -> list[str]:
    """Return the section that each marker begins, END for the last marker of all."""
    names: list[str] = []
    for marker in markers:
        name = END if marker["end"] else marker["name"].strip().lower()
        if name != END and name not in SECTIONS:
            raise fault(
                prompt,
                f"“{shorten(marker[0].strip())}” names no section. Use {', '.join(SECTIONS)}.",
            )
        if name in names:
            what = f"section {name}" if name != END else f"“{END}”"
            raise fault(prompt, f"{what} appears twice. Mark it once; sections are not nested.")
        names.append(name)
    if END in names[:-1]:
        raise fault(prompt, f"“{END}” is followed by another section. Put it behind the last one.")
    return names


def arranged(prompt: PromptFile, sections: Sequence[str] = ()) -> PromptFile:
    """Return the prompt as it is sent: its sections in an order, by default its own.

    Raises LabError if an order is given and the prompt has no sections.
    """
    made = cut(prompt)
    if made is not None:
        return made.arranged(sections)
    if sections:
        raise fault(
            prompt,
            "it has no sections, so [design] cannot change their order. Put a line like "
            "<!-- section rubric --> above each of its parts: task, answer, rubric and, if it "
            f"shows one, reference. {END} ends the last one.",
        )
    return prompt


def check_pieces(made: Cut, listed: str) -> None:
    """Raise LabError unless each section means the same wherever it is.

    A section must be complete (no loop may go on in the next one), and must not use what another
    section sets. ``listed``: what templates call the list, which the rubric section must print.
    """
    names, apart = made.apart()
    used: list[set[str]] = []
    assigned: list[set[str]] = []
    for name, message in zip(names, apart.messages, strict=True):
        try:
            used.append(names_in(message.text)[0])
        except LabError as error:
            raise fault(
                made.prompt,
                f"{called(name)} is not complete by itself: {error} A condition or loop must begin "
                f"and end in one section.",
            ) from None
        assigned.append(names_set_in(message.text))
    for number, name in enumerate(names):
        others = [known for k, known in enumerate(assigned) if k != number]
        shared = sorted(used[number] & set().union(*others))
        if shared:
            raise fault(
                made.prompt,
                f"{called(name)} uses “{shorten(shared[0])}”, which another part of the prompt "
                f"sets, so its text would depend on the order. Set it where it is used.",
            )
    if listed not in used[names.index("rubric")]:
        raise fault(
            made.prompt,
            f"section rubric does not print {{{{ {listed} }}}}. Put its marker above the list.",
        )


def called(name: str) -> str:
    """Return what a sentence calls a piece of a prompt, by its name in ``Cut.apart``."""
    return f"section {name}" if name else "the text outside the sections"


def fault(prompt: PromptFile, words: str) -> LabError:
    """Return the error that says what is wrong with the sections of a prompt."""
    return LabError(f"Prompt “{shorten(prompt.name)}”: {words}")
