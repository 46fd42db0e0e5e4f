//! `trace insn init`, `alloc`, `assign` and the other calls of the controller.

use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use anyhow::{anyhow, bail, Context, Result};
use trace_insntrace::controller::{
    ctl, Allocation, BufferConfig, BufferDescriptor, BufferState, Mode, Status, ThreadKoid,
};
use trace_insntrace::hardware::Pmu;
use trace_insntrace::recording::TraceId;
use trace_insntrace::service::{socket_path, Client, Error};
use trace_kernel::perf_event::online;

use super::files::Files;
use super::hardware::{missing, report_losses};
use super::service::READY;
use crate::cli::{
    InsnAllocArgs, InsnControl, InsnControlEngine, InsnControlMode, InsnDumpArgs, InsnInitArgs,
    InsnName,
};
use crate::message::{counted, HINT};
use crate::{exit, say};

/// The hint if the controller runs without a trace.
const NO_TRACE: &str =
    "the trace was terminated: end the controller with `trace insn reset`, then `trace insn init`";

/// The hint if the process has ended, also by a panic. It has released all threads.
const ENDED: &str =
    "no thread is traced any more; start the controller again with `trace insn init`";

pub(super) fn run(command: &InsnControl) -> Result<u8> {
    match command {
        InsnControl::Init(args) => init(args),
        InsnControl::Alloc(args) => alloc(args),
        InsnControl::Assign(args) => {
            let (buffer, thread) = (BufferDescriptor(args.buffer), ThreadKoid(args.thread));
            let assign = |client: &Client| client.assign_thread_buffer(buffer, thread);
            let required = "the buffer has a thread, or the thread has a buffer";
            call(&args.name, "assign the buffer", required, assign)
        }
        InsnControl::Release(args) => {
            let (buffer, thread) = (BufferDescriptor(args.buffer), ThreadKoid(args.thread));
            let release = |client: &Client| client.release_thread_buffer(buffer, thread);
            call(&args.name, "release the buffer", "the buffer has no thread", release)
        }
        InsnControl::Start(name) => {
            let required = "tracing is on, or `trace insn alloc` has to allocate a buffer first";
            call(name, "start tracing", required, Client::start)
        }
        InsnControl::Stop(name) => call(name, "stop tracing", "", Client::stop),
        InsnControl::State(name) => state(name),
        InsnControl::Dump(args) => dump(args),
        InsnControl::Free(args) => {
            let buffer = BufferDescriptor(args.buffer);
            let required = "use `trace insn stop`, then `trace insn release` for its thread";
            call(&args.name, "free the buffer", required, |client| client.free_buffer(buffer))
        }
        InsnControl::Terminate(name) => {
            let required = "release all threads with `trace insn release`";
            call(name, "terminate the trace", required, Client::terminate)
        }
        InsnControl::Reset(name) => reset(name),
    }
}

fn connect(name: &InsnName) -> Result<Client> {
    let path = socket_path(&name.name);
    Client::connect(&path).map_err(|error| match &error {
        Error::Io(io)
            if matches!(io.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused) =>
        {
            anyhow!(
                "the controller {} does not run{HINT}start it with `trace insn init`",
                name.name
            )
        }
        _ => anyhow!(error).context(format!("cannot connect to {}", path.display())),
    })
}

/// Makes one call. `required` is the hint if the state of the trace does not allow it.
fn call(
    name: &InsnName,
    what: &str,
    required: &str,
    call: impl FnOnce(&Client) -> Result<(), Error>,
) -> Result<u8> {
    let client = connect(name)?;
    call(&client).map_err(|error| match error.status() {
        Some(Status::BadState) => {
            let has_trace = !matches!(client.get_allocation(), Ok(None));
            let hint = if has_trace { required } else { NO_TRACE };
            anyhow!("cannot {what}: {error}{HINT}{hint}")
        }
        _ => explain(error, what),
    })?;
    Ok(exit::OK)
}

/// Ends the process.
fn reset(name: &InsnName) -> Result<u8> {
    let leaving = connect(name)?.close().map_err(|error| explain(error, "end the controller"))?;
    if leaving == 0 {
        return Ok(exit::OK);
    }
    let threads = counted(leaving.into(), "thread is", "threads are");
    let hint = "the kernel releases a thread when it leaves its system call, such as vfork; the \
                controller ends then";
    say(&format!("{threads} not released yet{HINT}{hint}"));
    Ok(exit::FAILURE)
}

/// Returns an error with a hint for its status.
fn explain(error: Error, what: &str) -> anyhow::Error {
    let hint = match (error.status(), &error) {
        (Some(Status::InvalidArgs), _) => "`trace insn state` prints the buffers",
        (Some(Status::AccessDenied), _) => {
            "the process must be yours, not privileged, and not traced"
        }
        (None, Error::Io(io)) if is_ended(io) => ENDED,
        _ => return anyhow!(error).context(format!("cannot {what}")),
    };
    anyhow!("cannot {what}: {error}{HINT}{hint}")
}

/// Returns whether the other process of a connection has ended. Other errors are those of this
/// process, such as one without free descriptors.
fn is_ended(error: &io::Error) -> bool {
    use ErrorKind::{BrokenPipe, ConnectionReset, NotConnected, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionReset | NotConnected | UnexpectedEof)
}

/// Starts the process, and begins a trace.
fn init(args: &InsnInitArgs) -> Result<u8> {
    start_service(args)?;
    let mode = match args.mode {
        InsnControlMode::Cpu => Mode::Cpu,
        InsnControlMode::Thread => Mode::Thread,
    };
    let client = connect(&args.name)?;
    let num_traces = match mode {
        // Each CPU has a buffer.
        Mode::Cpu => online().len().try_into().context("there are too many CPUs")?,
        Mode::Thread => args.num_traces,
    };
    let allocation = Allocation { mode, num_traces };
    if let Err(error) = client.initialize(allocation) {
        client.close().map_err(|error| explain(error, "end the controller"))?;
        return Err(match (mode, error.status()) {
            (Mode::Cpu, Some(Status::NotSupported)) => {
                anyhow!("cannot begin a trace: {error}{HINT}{}", hint_of_cpus())
            }
            _ => anyhow!(error).context("cannot begin a trace"),
        });
    }
    Ok(exit::OK)
}

/// Returns why CPUs cannot be traced.
fn hint_of_cpus() -> String {
    match Pmu::find() {
        Ok(_) => "CPUs require --engine hardware".into(),
        Err(missing) => format!("only hardware traces CPUs: {missing}"),
    }
}

fn start_service(args: &InsnInitArgs) -> Result<()> {
    let mut command = Command::new("/proc/self/exe");
    command.arg0("trace-insn").args(["insn", "service", "--hold", "--name", &args.name.name]);
    command.args(["--memory", &args.settings.memory.to_string()]);
    let engine = match args.settings.engine {
        InsnControlEngine::Step => "step",
        InsnControlEngine::Block => "block",
        InsnControlEngine::Hardware => "hardware",
    };
    command.args(["--engine", engine]);
    if let Some(steps) = args.settings.budget {
        command.args(["--budget", &steps.to_string()]);
    }
    // It must not keep the terminal, or a pipe, open.
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).current_dir("/");
    let mut process = command.spawn().context("cannot start the controller")?;
    let mut output = BufReader::new(process.stdout.take().context("it has no output")?);
    let mut message = String::new();
    output.read_line(&mut message).context("cannot start the controller")?;
    if message.trim_end() == READY {
        return Ok(());
    }
    // The process ends after an error, which may have a hint.
    output.read_to_string(&mut message).context("cannot start the controller")?;
    process.wait().context("cannot wait for the controller")?;
    match message.trim_end() {
        "" => bail!("the controller did not start"),
        error => bail!("{}", error.to_owned()),
    }
}

fn alloc(args: &InsnAllocArgs) -> Result<u8> {
    let mut ranges = args.range.iter().copied();
    let address_ranges = [(); 2].map(|()| ranges.next().unwrap_or_default());
    if ranges.next().is_some() {
        bail!("a buffer has at most 2 address ranges");
    }
    let config = BufferConfig {
        num_chunks: args.num_chunks,
        chunk_order: args.chunk_order,
        is_circular: args.circular,
        ctl: args.ctl.unwrap_or(ctl::DEFAULT),
        address_space_match: args.cr3_match,
        address_ranges,
    };
    let client = connect(&args.name)?;
    let buffer = client.allocate_buffer(config).map_err(|error| {
        let hint = match error.status() {
            None => return explain(error, "allocate a buffer"),
            Some(Status::BadState) => format!("{HINT}{NO_TRACE}"),
            Some(Status::NoMemory) => format!("{HINT}`trace insn init --memory` sets the limit"),
            Some(_) => String::new(),
        };
        anyhow!("cannot allocate a buffer: {error}{hint}")
    })?;
    writeln!(io::stdout(), "{}", buffer.0).context("cannot write to standard output")?;
    Ok(exit::OK)
}

fn state(name: &InsnName) -> Result<u8> {
    let client = connect(name)?;
    let failed = |error| explain(error, "read the state");
    let mut text = String::new();
    match client.get_allocation().map_err(failed)? {
        None => text.push_str("no trace\n"),
        Some(allocation) => {
            let mode = match allocation.mode {
                Mode::Cpu => "cpu",
                Mode::Thread => "thread",
            };
            let is_active = client.is_active().map_err(failed)?;
            let tracing = if is_active { "on" } else { "off" };
            let most = allocation.num_traces;
            writeln!(text, "mode {mode}, at most {most} buffers, tracing is {tracing}")?;
            for (buffer, config) in buffers(&client, allocation).map_err(failed)? {
                // While CPUs are traced, only they know their positions.
                let end = match client.get_buffer_state(buffer) {
                    Err(error) if error.status() == Some(Status::BadState) => "unknown".to_owned(),
                    Err(error) if error.status() == Some(Status::Internal) => {
                        "unknown: tracing has failed".to_owned()
                    }
                    state => describe(state.map_err(failed)?),
                };
                let bytes = u64::from(config.num_chunks) * config.chunk_bytes();
                let kind = if config.is_circular { "circular" } else { "stops when full" };
                writeln!(
                    text,
                    "buffer {}: {} chunks, {bytes} bytes, {kind}, ctl 0x{:x}, capture end {end}",
                    buffer.0, config.num_chunks, config.ctl,
                )?;
            }
        }
    }
    io::stdout().write_all(text.as_bytes()).context("cannot write to standard output")?;
    Ok(exit::OK)
}

/// Returns the end of the packets, and what is missing.
fn describe(state: BufferState) -> String {
    let BufferState { capture_end, is_full, losses } = state;
    let mut text = capture_end.to_string();
    if is_full {
        text.push_str(", full: later packets are missing");
    }
    text.extend(missing(losses).map(|missing| format!(", {missing}")));
    text
}

/// Returns the allocated buffers.
fn buffers(
    client: &Client,
    allocation: Allocation,
) -> Result<Vec<(BufferDescriptor, BufferConfig)>, Error> {
    let mut found = Vec::new();
    for buffer in (0..allocation.num_traces.into()).map(BufferDescriptor) {
        match client.get_buffer_config(buffer) {
            Ok(config) => found.push((buffer, config)),
            Err(error) if error.status() == Some(Status::InvalidArgs) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

/// Writes the buffers that have packets.
fn dump(args: &InsnDumpArgs) -> Result<u8> {
    let client = connect(&args.name)?;
    let failed = |error: Error| match error.status() {
        Some(Status::BadState) => {
            anyhow!("cannot dump: tracing is on{HINT}stop it with `trace insn stop`")
        }
        _ => explain(error, "read the buffers"),
    };
    let Some(allocation) = client.get_allocation().map_err(failed)? else {
        bail!("there is no trace{HINT}{NO_TRACE}");
    };
    let mut traces = Vec::new();
    let mut register = None;
    let mut code = exit::OK;
    for (buffer, config) in buffers(&client, allocation).map_err(failed)? {
        let data = client.trace_data(buffer).map_err(failed)?;
        match client.get_buffer_state(buffer) {
            Ok(_) => {}
            Err(error) if error.status() == Some(Status::Internal) => {
                say(&format!("buffer {}: tracing has failed, later packets are missing", buffer.0));
                code = exit::INCOMPLETE;
            }
            Err(error) => return Err(failed(error)),
        }
        if !data.packets.is_empty() {
            register.get_or_insert(config.ctl);
            traces.push((TraceId(buffer.0), data));
        }
    }
    let Some(register) = register else {
        bail!("no buffer has packets{HINT}assign buffers to threads, and start tracing");
    };
    let mut files = Files::create_of_buffers(&args.output, register)?;
    let mut bytes = 0;
    let number = counted(traces.len() as u64, "trace", "traces");
    for (trace, data) in traces {
        bytes += data.packets.len();
        report_losses(data.losses, &format!("buffer {}: ", trace.0));
        files.write(data.notes, vec![(trace, data.packets)])?;
    }
    files.finish()?;
    say(&format!("{number} of {bytes} bytes written to {}", args.output.display()));
    Ok(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_end_of_the_controller_has_its_hint() {
        use ErrorKind::{BrokenPipe, ConnectionReset, NotConnected, UnexpectedEof};
        for kind in [BrokenPipe, ConnectionReset, NotConnected, UnexpectedEof] {
            let text = format!("{:#}", explain(io::Error::from(kind).into(), "start tracing"));
            assert!(text.contains(ENDED), "{text}");
        }
        let others = [ErrorKind::OutOfMemory, ErrorKind::PermissionDenied, ErrorKind::InvalidData];
        for kind in others {
            let text = format!("{:#}", explain(io::Error::from(kind).into(), "start tracing"));
            assert!(text.starts_with("cannot start tracing: ") && !text.contains(ENDED), "{text}");
        }
    }
}
