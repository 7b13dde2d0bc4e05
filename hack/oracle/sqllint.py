"""Parse SQL files as Oracle's dialect; print each section that is none.

usage: sqllint.py FILE...

Prints FILE:LINE:COLUMN: what, and ends with 1 if there was any. All files go
through one process, because loading the dialect takes most of the time.
"""

import sys

import dialect
from sqlfluff.core import Linter


def problems(lint, name):
    """Yield line, column and sentence for each thing that is no SQL of Oracle's."""
    with open(name, encoding="utf-8") as file:
        parsed = lint.parse_string(file.read(), fname=name)
    for v in parsed.violations:
        yield v.line_no, v.line_pos, v.desc()
    if not parsed.violations and parsed.root_variant() is None:
        yield 1, 1, "nothing was parsed"


def main(files):
    """Parse all files and say what is wrong."""
    lint, bad = Linter(config=dialect.config()), not files
    for name in files:
        for line, column, what in problems(lint, name):
            bad = True
            print(f"{name}:{line}:{column}: {what}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
