//! Tracy's client: events go to a lock-free queue and stay in memory until a viewer connects; no
//! file.

use std::hint::black_box;
use std::path::Path;
use std::sync::OnceLock;

use tracy_client::{span, Client, PlotName};

use crate::peer::{Peer, Session};

/// Tracy without a viewer. It cannot be measured "off": its macros panic before the client runs,
/// and afterwards it always records.
pub const PEER: Peer = Peer {
    name: "tracy-client",
    through_tracing: false,
    off: None,
    scope,
    scope_args: Some(|n| {
        for i in 0..n {
            let zone = span!("scope");
            zone.emit_value(i);
            zone.emit_text("short");
            black_box(i);
        }
    }),
    instant: Some(|n| {
        let client = running();
        for i in 0..n {
            client.message("instant", 0);
            black_box(i);
        }
    }),
    counter: Some(|n| {
        let (client, name) = (running(), plot_name());
        for i in 0..n {
            // Plots are `f64`.
            client.plot(name, i as f64);
            black_box(i);
        }
    }),
    start,
};

fn scope(n: u64) {
    for i in 0..n {
        let _zone = span!("scope");
        black_box(i);
    }
}

fn running() -> Client {
    Client::running().expect("loops with Tracy run after `start`")
}

fn plot_name() -> PlotName {
    static NAME: OnceLock<PlotName> = OnceLock::new();
    *NAME.get_or_init(|| PlotName::new_leak("counter".to_owned()))
}

struct Recording {
    _client: Client,
}

fn start(_file: &Path) -> Box<dyn Session> {
    Box::new(Recording { _client: Client::start() })
}

impl Session for Recording {
    fn finish(self: Box<Self>) {
        // No file is written: data that no viewer has fetched is lost.
    }
}
