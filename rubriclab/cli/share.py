"""The command that writes runs as a folder of static pages, or as the same in a ZIP."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from rubriclab.cli.common import EXIT_OK, add_language, command, existing_store, say
from rubriclab.cli.paper import formats
from rubriclab.model.language import speaking
from rubriclab.model.wording import many


def add_share(parsers: Any) -> None:
    about = (
        "Write runs as a folder of static pages that any web server shows, or the file system: an index, and for "
        "each run its report, presentation, judgments, tables and charts. Addresses of servers, keys and places of "
        "files are left out; so are texts, replies and names of raters, unless you ask for them."
    )
    made = command(parsers, "share", share, about)
    add_language(made)
    made.add_argument("runs", metavar="RUN", nargs="+", help="a run's name, the beginning of it, or its title")
    made.add_argument(
        "--out",
        type=Path,
        required=True,
        metavar="FOLDER",
        help="a new folder, or one that was shared before, which is replaced as a whole; or a file that ends in .zip",
    )
    made.add_argument("--title", default="", help="a title for the index")
    words = made.add_mutually_exclusive_group()
    words.add_argument(
        "--with-texts",
        action="store_true",
        help="also what was judged and replied, word for word, and the names of raters: whoever sees the folder reads it",
    )
    words.add_argument("--without-texts", dest="with_texts", action="store_false", help="leave them out (default)")
    made.add_argument(
        "--figures",
        type=formats,
        default=(),
        metavar="svg,png,pdf",
        help="also draw the charts as files (needs a Chromium or Chrome); their numbers are always written",
    )


def share(arguments: argparse.Namespace) -> int:
    from rubriclab.datasets.outfolder import whole_folder, whole_zip
    from rubriclab.report.share import MANIFEST, Sharing
    from rubriclab.report.share import share as write

    out: Path = arguments.out
    packed = out.suffix.lower() == ".zip"
    sharing = Sharing(arguments.title, arguments.with_texts, arguments.figures)
    whole = whole_zip(out) if packed else whole_folder(out, MANIFEST)
    with existing_store(arguments.store) as store, whole as sink, speaking(arguments.language):
        files = write(store, arguments.runs, sink, sharing)
    size = sum(bytes_ for bytes_, _ in files.values())
    if arguments.json:
        sizes = {path: bytes_ for path, (bytes_, _) in files.items()}
        print(json.dumps({"out": str(out), "texts": arguments.with_texts, "files": sizes}, ensure_ascii=False))
    else:
        held = "with the texts that were judged" if arguments.with_texts else "without texts and names of people"
        start = "index.html in it" if packed else out / "index.html"
        say(f"{out}: {many(len(files), 'file')}, {size / 1e6:.1f} MB, {held}. Begin at {start}.")
    return EXIT_OK
