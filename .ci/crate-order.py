"""Fails if a crate depends on one that ARCHITECTURE.md lists below it, or that it does not list.

The rows of the table in the section "Crates" are the order. Dependencies of tests are exempt.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

METADATA = ["cargo", "metadata", "--locked", "--no-deps", "--format-version", "1"]


def order():
    """Returns the folder of each crate with its row."""
    table = Path("ARCHITECTURE.md").read_text().split("\n## Crates\n")[1].split("\n\n")[1]
    cells = (line.split("|")[1] for line in table.splitlines())
    return {name: row for row, cell in enumerate(cells) for name in re.findall("`([^`]+)`", cell)}


def main():
    rows, failed = order(), False
    for package in json.loads(subprocess.check_output(METADATA))["packages"]:
        folder = Path(package["manifest_path"]).parent
        if not (folder / "src").exists():
            continue
        needed = [d for d in package["dependencies"] if d.get("path") and d["kind"] != "dev"]
        for name in [folder.name, *(Path(d["path"]).name for d in needed)]:
            if name not in rows:
                failed = True
                print(f"ARCHITECTURE.md: lacks the crate {name}", file=sys.stderr)
            elif rows[name] > rows.get(folder.name, -1):
                failed = True
                print(f"{folder.name}: depends on {name}, which is listed below it", file=sys.stderr)
    sys.exit(failed)


main()
