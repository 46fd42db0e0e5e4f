//! A provider that is no application: it sends counters of the machine, ten times a second.
//!
//! ```text
//! trace record -o all.fxt -- sh -c './machine_load & ./app; kill $!'
//! ```
//!
//! The records of both processes are in one archive. With a number as argument it ends after so
//! many samples.

use std::time::Duration;
use std::{env, error, fs, thread};

use trace_provider::format::Value;
use trace_provider::Provider;

fn main() -> Result<(), Box<dyn error::Error>> {
    let samples = env::args().nth(1).map_or(Ok(u64::MAX), |samples| samples.parse())?;
    let provider = Provider::builder("machine")
        .category("machine", "load and memory of the machine")
        .connect()?;
    let mut writer = provider.writer();
    for _ in 0..samples {
        if let Some(mut context) = writer.context() {
            let load = Value::Double(number("/proc/loadavg", "")?);
            context.counter("machine", "load", 0, &[("last minute", load)]);
            let available = number("/proc/meminfo", "MemAvailable:")? as u64;
            context.counter("machine", "memory", 0, &[("available KiB", Value::Uint64(available))]);
        }
        thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}

/// Returns the number behind `key` in a file.
fn number(path: &str, key: &str) -> Result<f64, Box<dyn error::Error>> {
    let text = fs::read_to_string(path)?;
    let (_, rest) = text.split_once(key).ok_or("the kernel does not say")?;
    Ok(rest.split_whitespace().next().unwrap_or_default().parse()?)
}
