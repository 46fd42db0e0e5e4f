//! The report, in Markdown.

use std::fmt::Write;

use crate::killed::Survivors;
use crate::machine;
use crate::options::Plan;
use crate::peer::{Kind, Peer};
use crate::peers::{EMPTY_LOOP, OUR_LAYER, RAW_CLOCK, REGISTRY};
use crate::samples::Samples;

/// The measurements of one tracer in the interleaved rounds.
#[derive(Debug)]
pub struct Row {
    name: &'static str,
    through_tracing: bool,
    off: Samples,
    recording: [Samples; Kind::RECORDING.len()],
}

/// The results of one long run.
#[derive(Debug)]
pub struct Footprint {
    /// The tracer.
    pub name: &'static str,
    /// Scopes recorded.
    pub scopes: u64,
    /// CPU time of the traced thread for each, in nanoseconds.
    pub nanos: f64,
    /// Wall clock time to stop and to complete the file, in nanoseconds.
    pub stop_ns: u64,
    /// Growth of resident memory at its peak, in KiB.
    pub memory_kib: u64,
    /// Size of the file, if there is one.
    pub file_bytes: Option<u64>,
}

impl Row {
    /// An empty row.
    pub fn new(peer: &Peer) -> Row {
        Row {
            name: peer.name,
            through_tracing: peer.through_tracing,
            off: Samples::default(),
            recording: Default::default(),
        }
    }

    /// Returns the samples of `kind`.
    pub fn samples(&mut self, kind: Kind) -> &mut Samples {
        match Kind::RECORDING.iter().position(|&other| other == kind) {
            Some(index) => &mut self.recording[index],
            None => &mut self.off,
        }
    }

    fn min(&self, kind: Kind) -> Option<f64> {
        self.recording(kind).min()
    }

    fn recording(&self, kind: Kind) -> &Samples {
        Kind::RECORDING
            .iter()
            .position(|&other| other == kind)
            .map_or(&self.off, |index| &self.recording[index])
    }
}

/// The smallest values of the baselines.
struct Floor {
    /// One read, nanoseconds.
    read: f64,
    /// One turn of the empty loop, nanoseconds.
    turn: f64,
}

impl Floor {
    fn of(rows: &[Row]) -> Option<Floor> {
        let row = |name| rows.iter().find(|row| row.name == name);
        Some(Floor { read: row(RAW_CLOCK)?.min(Kind::Instant)?, turn: row(EMPTY_LOOP)?.off.min()? })
    }

    /// Returns the minimal number of clock reads of one trace point.
    fn reads(kind: Kind) -> f64 {
        match kind {
            Kind::Instant | Kind::Counter => 1.0,
            Kind::Off | Kind::Scope | Kind::ScopeArgs | Kind::Threads => 2.0,
        }
    }
}

/// Returns the whole report.
pub fn render(
    plan: &Plan,
    rows: &[Row],
    footprints: &[Footprint],
    survivors: &[Survivors],
) -> String {
    let mut text = String::new();
    write_speed(&mut text, plan, rows);
    write_bridges(&mut text, rows);
    write_footprints(&mut text, footprints);
    write_survivors(&mut text, survivors);
    text
}

fn write_speed(text: &mut String, plan: &Plan, rows: &[Row]) {
    let Some(floor) = Floor::of(rows) else { return };
    let _ = write!(
        text,
        "{}\n\nns of the traced thread's CPU time for one trace point: minimum / median of {} interleaved repetitions of {} \
         trace points, and in brackets the minimum as a multiple of the raw clock read(s) it needs: {:.1} ns for an instant and \
         a counter, twice that for a scope. Off: minimum over an empty loop. Two threads: scopes on both at once, and in brackets the throughput of both together over that of one (2 is ideal).\n\n\
         | tracer | off, net | scope | + i64 and &str | instant | counter | two threads |\n|---|---|---|---|---|---|---|\n",
        machine::describe(),
        plan.reps,
        plan.count,
        floor.read
    );
    for row in rows.iter().filter(|row| !row.through_tracing) {
        let _ = writeln!(text, "{}", speed_line(row, &floor));
    }
}

fn speed_line(row: &Row, floor: &Floor) -> String {
    let mut cells = vec![row.name.to_owned(), off_cell(row, floor)];
    cells.extend(Kind::RECORDING.map(|kind| recording_cell(row, kind, floor)));
    format!("| {} |", cells.join(" | "))
}

fn off_cell(row: &Row, floor: &Floor) -> String {
    row.off.min().map_or("–".to_owned(), |min| format!("{:.2}", min - floor.turn))
}

fn recording_cell(row: &Row, kind: Kind, floor: &Floor) -> String {
    let samples = row.recording(kind);
    let (Some(min), Some(median)) = (samples.min(), samples.median()) else {
        return "–".to_owned();
    };
    let comparison = match (kind, row.min(Kind::Scope)) {
        (Kind::Threads, Some(alone)) => format!("together {:.2} ×", 2.0 * alone / min),
        _ => format!("{:.2} ×", min / (Floor::reads(kind) * floor.read)),
    };
    format!("{min:.1} / {median:.1} ({comparison})")
}

/// The kinds that are measured for listeners of `tracing`.
const BRIDGED: [Kind; 4] = [Kind::Scope, Kind::ScopeArgs, Kind::Instant, Kind::Threads];

fn write_bridges(text: &mut String, rows: &[Row]) {
    let row = |name| rows.iter().find(|row| row.name == name);
    let (Some(floor), Some(ours), Some(registry)) =
        (Floor::of(rows), row(OUR_LAYER), row(REGISTRY))
    else {
        return;
    };
    text.push_str(
        "\nSpans through `tracing`: minimum / median, and in brackets the minimum as a multiple of that of our layer; for layers, behind a \
         semicolon, the same of what is left without what the registry costs alone.\n\n\
         | listener | off, net | span | + i64 and &str | event | span, two threads |\n|---|---|---|---|---|---|\n",
    );
    for row in rows.iter().filter(|row| row.through_tracing) {
        let mut cells = vec![row.name.to_owned(), off_cell(row, &floor)];
        cells.extend(BRIDGED.map(|kind| bridged_cell(row, kind, ours, registry)));
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    }
}

fn bridged_cell(row: &Row, kind: Kind, ours: &Row, registry: &Row) -> String {
    let samples = row.recording(kind);
    let (Some(min), Some(median), Some(unit), Some(base)) =
        (samples.min(), samples.median(), ours.min(kind), registry.min(kind))
    else {
        return "–".to_owned();
    };
    let net = (min - base) / (unit - base);
    let net = if net > 0.0 { format!("; {net:.1} ×") } else { String::new() };
    format!("{min:.1} / {median:.1} ({:.2} ×{net})", min / unit)
}

fn write_footprints(text: &mut String, footprints: &[Footprint]) {
    let Some(scopes) = footprints.first().map(|footprint| footprint.scopes) else { return };
    let _ = write!(
        text,
        "\n{scopes} scopes without arguments in one go, each tracer in a fresh process; memory is the growth of resident memory at its peak.\n\n\
         | tracer | scope, ns | memory, MiB | to stop, ms | bytes a scope in the file |\n|---|---|---|---|---|\n"
    );
    for footprint in footprints {
        let _ = writeln!(text, "{}", footprint_line(footprint));
    }
}

fn footprint_line(footprint: &Footprint) -> String {
    let bytes = footprint.file_bytes.map_or("no file".to_owned(), |bytes| {
        format!("{:.1}", bytes as f64 / footprint.scopes as f64)
    });
    format!(
        "| {} | {:.1} | {:.1} | {:.1} | {bytes} |",
        footprint.name,
        footprint.nanos,
        footprint.memory_kib as f64 / 1024.0,
        footprint.stop_ns as f64 / 1e6
    )
}

fn write_survivors(text: &mut String, survivors: &[Survivors]) {
    text.push_str(
        "\nScopes that were complete when the process was killed by SIGKILL, and those in the file.\n\n\
         | tracer | complete | in the file |\n|---|---|---|\n",
    );
    for Survivors { name, complete, found } in survivors {
        let found = found.map_or("no file".to_owned(), |found| {
            format!("{found} ({:.2} %)", found as f64 * 100.0 / *complete as f64)
        });
        let _ = writeln!(text, "| {name} | {complete} | {found} |");
    }
}
