"""What `trace query --otlp` writes, as the Python package of OpenTelemetry decodes it, against the events of the archive."""

from __future__ import annotations

import struct
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import fxt_package
from against_store import Store
from opentelemetry.proto.trace.v1.trace_pb2 import Span, TracesData
from program import Query
from recordings import Programs, Way, succeeds

Check = tuple[str, Callable[[], list[str]], int | None]

REQUESTS = 20
WAY = Way("streaming", "1M", True)
KINDS = {"server": Span.SPAN_KIND_SERVER, "client": Span.SPAN_KIND_CLIENT, None: Span.SPAN_KIND_INTERNAL}
IDS = ("trace_id", "span_id", "parent_span_id", "span.kind")
# The span that each span is in, by the names of their categories and their own.
PARENTS = {
    ("shop", "request"): None,
    ("shop", "parse"): ("shop", "request"),
    ("shop", "call"): ("shop", "request"),
    ("prices", "request"): ("shop", "call"),
    ("prices", "query"): ("prices", "request"),
}


def checks(programs: Programs, query: Query, work: Path) -> Iterator[Check]:
    work.mkdir(parents=True, exist_ok=True)
    archive = work / "services.fxt"
    before = time.time_ns()
    succeeds(programs.record(WAY, archive, [str(programs.example("traceparent")), str(REQUESTS)], {"TRACE_CLOCK": "boottime"}))
    after = time.time_ns()
    events = [event for events in fxt_package.read(archive).events.values() for event in events]
    spans = exported(query, archive, work / "services.otlp")
    yield "OTLP: spans", lambda: faults_of_spans(events, spans), len(spans)
    yield "OTLP: parents", lambda: faults_of_parents(spans), len(spans)
    yield "OTLP: times", lambda: faults_of_times(spans, before, after), len(spans)
    store = Store(str(work / f"store {before}"), query)
    store.run("add", store.name, str(archive), "--host", "web 1", "--service", "shop and prices", "--version", "v1")
    of_store = exported(query, store.name, work / "store.otlp")
    yield "OTLP: of a store", lambda: faults_of_store(spans, of_store), len(of_store)
    yield "OTLP: no trace ids", lambda: refusal(programs, query, work), None


def exported(query: Query, archive: Path | str, file: Path) -> list[tuple[dict, Span]]:
    """The spans, with the attributes of their resources."""
    subprocess.run([str(query.program), str(archive), "--otlp", str(file)], check=True, capture_output=True)
    data = TracesData.FromString(file.read_bytes())
    spans = []
    for resource in data.resource_spans:
        attributes = values(resource.resource.attributes)
        spans += [(attributes, span) for scope in resource.scope_spans for span in scope.spans]
    return spans


def values(attributes: object) -> dict:
    return {it.key: getattr(it.value, it.value.WhichOneof("value")) for it in attributes}


def faults_of_spans(events: list, spans: list[tuple[dict, Span]]) -> list[str]:
    """Each duration of the archive is a span with its ids, kind, length and arguments."""
    left = {(event.category, event.name, event.start): event for event in events}
    starts = {event.start for event in events}
    shift = min(span.start_time_unix_nano for _, span in spans) - min(starts)
    faults = [] if len(spans) == len(left) == 5 * REQUESTS else [f"{len(spans)} spans of {len(left)} events"]
    for resource, span in spans:
        own = values(span.attributes)
        event = left.pop((own.pop("category"), span.name, span.start_time_unix_nano - shift), None)
        if event is None:
            faults.append(f"no event is {span}")
            continue
        arguments = {key: argument(value) for key, value in event.args.items() if key not in IDS}
        threads = (own.pop("thread.id"), own.pop("thread.name"))
        expected = (arguments, event.end - event.start, KINDS[event.args.get("span.kind")])
        if (own, span.end_time_unix_nano - span.start_time_unix_nano, span.kind) != expected:
            faults.append(f"{span} is {event}")
        if event.args.get("span_id", span.span_id.hex()) != span.span_id.hex() or len(span.span_id) != 8:
            faults.append(f"{span.span_id.hex()} is {event}")
        if event.args.get("trace_id", span.trace_id.hex()) != span.trace_id.hex() or len(span.trace_id) != 16:
            faults.append(f"{span.trace_id.hex()} is {event}")
        if threads[1] not in ("shop", "prices") or resource["service.name"] != "traceparent" or resource["process.pid"] <= 0:
            faults.append(f"{threads} {resource}")
    return faults


def argument(value: object) -> object:
    """Values that are equal to those of other types have their type with them."""
    match value:
        case ("f64", bits):
            return struct.unpack("<d", struct.pack("<Q", bits))[0]
        case ("bool", it):
            return it
    return value


def faults_of_parents(spans: list[tuple[dict, Span]]) -> list[str]:
    named = {span.span_id: (values(span.attributes)["category"], span.name, span.trace_id) for _, span in spans}
    faults = [] if len(named) == len(spans) else ["spans share an id"]
    if len({span.trace_id for _, span in spans}) != REQUESTS:
        faults.append("requests share an id")
    for span_id, (category, name, trace_id) in named.items():
        parent = next(span.parent_span_id for _, span in spans if span.span_id == span_id)
        expected = PARENTS[category, name]
        if (named[parent] if parent else None) != (expected and (*expected, trace_id)):
            faults.append(f"{category}/{name} is in {named.get(parent)}")
    return faults


def faults_of_times(spans: list[tuple[dict, Span]], before: int, after: int) -> list[str]:
    """Spans are within the recording and within their parents of the same thread, in time since 1970."""
    inside = all(before <= span.start_time_unix_nano <= span.end_time_unix_nano <= after for _, span in spans)
    return [] if inside else [f"{before} {after} {spans[0]} {spans[-1]}"]


def faults_of_store(spans: list[tuple[dict, Span]], of_store: list[tuple[dict, Span]]) -> list[str]:
    ids = lambda spans: sorted((span.trace_id, span.name, span.start_time_unix_nano, span.end_time_unix_nano) for _, span in spans)  # noqa: E731
    faults = [] if ids(spans) == ids(of_store) else [f"{ids(spans)[:2]} {ids(of_store)[:2]}"]
    labels = {(it["service.name"], it["host.name"], it["service.version"]) for it, _ in of_store}
    return faults + ([] if labels == {("shop and prices", "web 1", "v1")} else [str(labels)])


def refusal(programs: Programs, query: Query, work: Path) -> list[str]:
    archive = work / "none.fxt"
    succeeds(programs.record(WAY, archive, [str(programs.example("known_events"))]))
    file = work / "none.otlp"
    run = subprocess.run([str(query.program), str(archive), "--otlp", str(file)], capture_output=True, text=True, check=False)
    is_refused = run.returncode == 1 and "no span has a trace id" in run.stderr and not file.exists()
    return [] if is_refused else [f"exits with {run.returncode}: {run.stderr}"]
