//! Records all programs of this user that are registered with the daemon for a second:
//!
//! ```text
//! trace daemon &
//! cargo run --example controller -- recorded.fxt
//! ```

use std::fs::File;
use std::time::Duration;

use trace_manager::controller::{Controller, ControllerError, TraceConfig};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "trace.fxt".to_owned());
    record(&mut Controller::connect_default()?, &File::create(path)?)?;
    Ok(())
}

fn record(controller: &mut Controller, output: &File) -> Result<(), ControllerError> {
    for provider in controller.providers()? {
        println!("{} ({})", provider.name, provider.pid);
    }
    let config = TraceConfig { buffer_size: 4 << 20, ..TraceConfig::default() };
    let session = controller.initialize(&config, output)?;
    controller.start(&session)?;
    std::thread::sleep(Duration::from_secs(1));
    let summary = controller.stop(&session)?;
    for provider in summary.providers {
        println!("{}: {} events, {} lost", provider.name, provider.events, provider.dropped);
    }
    Ok(())
}
