//! `trace insn service`, and the process that `trace insn init` starts.

use std::fs::DirBuilder;
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::thread;

use anyhow::{anyhow, bail, Context, Result};
use rustix::process::{getrlimit, setrlimit, setsid, Resource, Rlimit};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;
use trace_insntrace::hardware::Pmu;
use trace_insntrace::service::{socket_path, Lifetime, Service, Settings};
use trace_insntrace::step::Engine;

use super::engine::{end_with, refuse_tracers};
use super::engine_process::run_controller;
use crate::cli::{InsnControlEngine, InsnServiceArgs, InsnSettings};
use crate::message::{describe, HINT};
use crate::{exit, say};

/// The line with which the process reports that it accepts clients. Any other one is an error.
pub(super) const READY: &str = "ready";

pub(super) fn run(args: &InsnServiceArgs) -> Result<u8> {
    match args.parent {
        Some(parent) => return Ok(run_held(args, parent)),
        None if args.hold => return hold(),
        None => {}
    }
    let service = start(args, Lifetime::Connection)?;
    say(&format!("clients connect to {}", socket_path(&args.name.name).display()));
    service.run().context("the controller has ended")?;
    Ok(exit::OK)
}

/// Runs in the background, and starts the process that traces. If this one is killed, that one
/// releases all threads.
fn hold() -> Result<u8> {
    let _unnamed = std::fs::write("/proc/self/comm", "trace-insn");
    // It fails only if the process has a session already.
    let _ = setsid();
    run_controller()
}

/// Traces for the process `parent`. The starter reads one line from standard output.
fn run_held(args: &InsnServiceArgs, parent: u32) -> u8 {
    let started = end_with(parent).and_then(|()| start(args, Lifetime::Service));
    let (line, service) = match started {
        Ok(service) => (READY.to_owned(), Some(service)),
        Err(error) => (describe(error.as_ref()), None),
    };
    // Without the starter, there is no one to report to.
    let _ = writeln!(io::stdout(), "{line}");
    match service.map(Service::run) {
        Some(Ok(())) => exit::OK,
        _ => exit::FAILURE,
    }
}

fn start(args: &InsnServiceArgs, lifetime: Lifetime) -> Result<Service> {
    // The name that `ps` shows. Without this it would be `exe`.
    let _unnamed = std::fs::write("/proc/self/comm", "trace-insn");
    refuse_tracers()?;
    let signals = [SIGINT, SIGTERM, SIGHUP, SIGQUIT];
    let mut signals = Signals::new(signals).context("cannot watch for signals")?;
    allow_files();
    let path = socket_path(&args.name.name);
    create_folder(&path).with_context(|| failed(args, &path))?;
    let bound = match engine(&args.settings) {
        Some(engine) => Service::bind(&path, lifetime, settings(&args.settings, engine)),
        None => Service::bind_hardware(&path, lifetime, pmu(args)?, bytes(&args.settings)),
    };
    let service = bound.map_err(|error| {
        let context = failed(args, &path);
        match error.kind() {
            ErrorKind::AddrInUse => {
                let hint = "end it with `trace insn reset`, or select another --name";
                anyhow!("the controller {} runs already{HINT}{hint}", args.name.name)
            }
            _ => anyhow!(error).context(context),
        }
    })?;
    let ender = service.ender();
    thread::spawn(move || {
        for _ in signals.forever() {
            // A killed tracer would kill its threads: they are released first.
            ender.end();
        }
    });
    Ok(service)
}

fn failed(args: &InsnServiceArgs, path: &Path) -> String {
    format!("cannot start the controller {} at {}", args.name.name, path.display())
}

/// Returns the engine that traces by stops, or `None` if the processor traces.
fn engine(settings: &InsnSettings) -> Option<Engine> {
    match settings.engine {
        InsnControlEngine::Step => Some(Engine::Step),
        InsnControlEngine::Block => Some(Engine::Block),
        InsnControlEngine::Hardware => None,
    }
}

fn settings(settings: &InsnSettings, engine: Engine) -> Settings {
    Settings { engine, bytes: bytes(settings), steps: settings.budget, ..Settings::default() }
}

fn bytes(settings: &InsnSettings) -> u64 {
    u64::from(settings.memory) << 20
}

/// Returns the event source of the processor.
fn pmu(args: &InsnServiceArgs) -> Result<Pmu> {
    if args.settings.budget.is_some() {
        bail!("--engine hardware has no --budget{HINT}a buffer that is not circular ends tracing");
    }
    Pmu::find().map_err(|missing| {
        anyhow!("cannot trace by hardware: {missing}{HINT}--engine step traces on any processor")
    })
}

/// Allows as many descriptors as this user may have: each chunk has one.
fn allow_files() {
    let limit = getrlimit(Resource::Nofile);
    let all = Rlimit { current: limit.maximum, maximum: limit.maximum };
    // Otherwise there are fewer chunks.
    let _ = setrlimit(Resource::Nofile, all);
}

/// Creates the folder of the socket if it is missing, for this user only.
fn create_folder(socket: &Path) -> io::Result<()> {
    let Some(folder) = socket.parent() else { return Ok(()) };
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}
