"""The files for Docker Compose and Kubernetes: the program knows the options in them, and they name one image."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import yaml
from program import Query

FOLDER = Path(__file__).resolve().parents[2] / "trace-lake/deploy"


def checks(query: Query) -> Iterator[tuple[str, Callable[[], list[str]], int | None]]:
    compose = yaml.safe_load((FOLDER / "compose.yaml").read_text(encoding="utf-8"))
    services = compose["services"]
    kubernetes = list(yaml.safe_load_all((FOLDER / "kubernetes.yaml").read_text(encoding="utf-8")))
    containers = [it for part in kubernetes if part["kind"] == "Deployment" for it in part["spec"]["template"]["spec"]["containers"]]
    commands = {f"compose.yaml, {name}": service["command"] for name, service in services.items() if "command" in service}
    commands |= {f"kubernetes.yaml, {container['name']}": container["args"] for container in containers}
    for name, command in commands.items():
        yield name, lambda command=command: known(query, command), len(commands)
    images = {it["image"] for it in [*services.values(), *containers]}
    yield "one image", lambda: [] if len(images) == 1 else [f"images {images}"], None
    builds = [service["build"] for service in services.values()]
    yield "the image is built", lambda: [f"{file} is missing" for file in map(dockerfile, builds) if not file.is_file()], None


def known(query: Query, command: list[str]) -> list[str]:
    """The program reads all options before it shows their descriptions."""
    if command[0] != "lake":
        return [f"{command[0]} is not `lake`"]
    run = subprocess.run([str(query.program), "--lake", *command[1:], "--help"], capture_output=True, text=True, timeout=60, check=False)
    return [] if run.returncode == 0 else [run.stderr[:1000]]


def dockerfile(build: dict[str, str]) -> Path:
    return FOLDER / build["context"] / build["dockerfile"]
