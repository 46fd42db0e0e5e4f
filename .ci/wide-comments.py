"""Prints the comments that are wider than the code may be: stable rustfmt does not wrap them.

Code and pictures between fences stay as they are, and so do rows of tables.
"""

import re
import sys

WIDTH = 100
COMMENT = re.compile(r"\s*//[/!]?\s*(.*)")


def wide_comments(path):
    fenced = False
    for number, line in enumerate(open(path, encoding="utf-8"), 1):
        line = line.rstrip("\n")
        comment = COMMENT.fullmatch(line)
        if not comment:
            fenced = False
            continue
        text = comment.group(1)
        if text.startswith("```"):
            fenced = not fenced
        elif len(line) > WIDTH and " " in text and not fenced and not text.startswith("|"):
            yield number


found = [f"{path}:{number}" for path in sys.argv[1:] for number in wide_comments(path)]
for place in found:
    print(f"{place}: comment is wider than {WIDTH} columns", file=sys.stderr)
sys.exit(bool(found))
