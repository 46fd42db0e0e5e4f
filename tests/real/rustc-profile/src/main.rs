//! `rustc-profile PROFILE.mm_profdata OUT.json`

use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use analyzeme::{Event, EventPayload, ProfilingData, Timestamp};
use serde_json::{json, Map, Value};

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let paths: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [profile, out] = &paths[..] else {
        return Err("expected a profile and the file to write".into());
    };
    let profile = ProfilingData::new(profile)?;
    let process = profile.metadata().process_id;
    let mut out = BufWriter::new(File::create(out)?);
    let name = json!({"ph": "M", "name": "process_name", "pid": process, "tid": 0, "args": {"name": "rustc"}});
    write!(out, "[{name}")?;
    for event in profile.iter_full() {
        if let EventPayload::Timestamp(Timestamp::Interval { start, end }) = event.payload {
            write!(out, ",\n{}", complete(process, &event, micros(start)?, micros(end)?))?;
        }
    }
    writeln!(out, "]")?;
    Ok(out.flush()?)
}

fn complete(process: u32, event: &Event<'_>, start: u64, end: u64) -> Value {
    let values = event.additional_data.iter().enumerate();
    let args: Map<_, _> = values.map(|(at, value)| (format!("arg{at}"), json!(value))).collect();
    json!({
        "ph": "X", "pid": process, "tid": event.thread_id, "ts": start, "dur": end.saturating_sub(start),
        "cat": event.event_kind, "name": event.label, "args": args,
    })
}

fn micros(time: SystemTime) -> Result<u64, Box<dyn Error + Send + Sync>> {
    Ok(u64::try_from(time.duration_since(UNIX_EPOCH)?.as_micros())?)
}
