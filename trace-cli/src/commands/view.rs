//! `trace view`: Perfetto's user interface, opened on a file.
//!
//! The file is served on the loopback interface only, at an address that cannot be guessed. The
//! interface is the hosted one, whose pages may fetch the file, or the copy that `trace view
//! --setup` installs, which this server serves too.

mod browser;
mod http;
mod pages;
mod peer;
mod server;
mod setup;
mod site;
mod trace;

use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use anyhow::{Context, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::cli::ViewArgs;
use crate::{exit, say};
use server::Server;
use site::{Interface, Site};

pub(crate) fn run(args: &ViewArgs) -> Result<u8> {
    if args.setup {
        let place = setup::install()?;
        say(&format!("Perfetto's user interface is in {}", place.display()));
    }
    match &args.file {
        Some(file) => view(args, file),
        None => Ok(exit::OK),
    }
}

fn view(args: &ViewArgs, file: &Path) -> Result<u8> {
    let interface = match setup::installed().filter(|_| !args.hosted) {
        Some(directory) => Interface::Own(directory),
        None => Interface::Hosted,
    };
    // The port is opened first, because converting a long trace would be in vain without it.
    let server = Server::listen(&interface, args.port)?;
    let (trace, code) = trace::prepare(file, &args.selection)?;
    let until = match interface {
        Interface::Own(_) => "the page is closed, or Ctrl-C",
        Interface::Hosted => {
            "ui.perfetto.dev has the trace, or Ctrl-C\nhint: allow the access if the browser asks"
        }
    };
    let site = Site::new(interface, trace, server.port())?;
    let is_asked = asked_to_end()?;
    writeln!(io::stdout(), "{}", site.address()).context("cannot write to standard output")?;
    say(&format!("serving until {until}"));
    if !args.no_open {
        browser::open(&site.one_time_address());
    }
    server.run(site, || is_asked.load(Ordering::Relaxed));
    Ok(code)
}

/// Returns a flag that a signal to end the command sets.
fn asked_to_end() -> Result<Arc<AtomicBool>> {
    let is_asked = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&is_asked))
            .context("cannot watch for signals")?;
    }
    Ok(is_asked)
}
