//! Arguments of the commands that control instruction traces step by step.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

/// The calls of the insntrace controller.
#[derive(Debug, Subcommand)]
pub(crate) enum InsnControl {
    /// Start a controller in the background, and begin a trace
    Init(InsnInitArgs),
    /// Allocate a buffer, and print its number
    Alloc(InsnAllocArgs),
    /// Assign a buffer to a thread
    Assign(InsnThreadArgs),
    /// Release a buffer from its thread
    Release(InsnThreadArgs),
    /// Start tracing all threads that have a buffer
    Start(InsnName),
    /// Stop tracing
    Stop(InsnName),
    /// Print the allocation and the buffers
    State(InsnName),
    /// Write all buffers to a directory, for `trace insn print`
    Dump(InsnDumpArgs),
    /// Free a buffer
    Free(InsnFreeArgs),
    /// Stop tracing and free all buffers
    Terminate(InsnName),
    /// End the controller: release all threads, and free all buffers
    Reset(InsnName),
}

/// The name of a controller.
#[derive(Debug, Args)]
pub(crate) struct InsnName {
    /// Name of the controller
    #[arg(long, value_name = "NAME", default_value = "default", value_parser = parse_name)]
    pub(crate) name: String,
}

#[derive(Debug, Args)]
pub(crate) struct InsnInitArgs {
    #[command(flatten)]
    pub(crate) name: InsnName,

    /// Unit of tracing; `cpu` requires `--engine hardware`
    #[arg(long, value_enum, default_value_t = InsnControlMode::Thread)]
    pub(crate) mode: InsnControlMode,

    /// Most buffers, 1 to 64; in CPU mode each CPU has one
    #[arg(long, value_name = "N", default_value_t = 64)]
    pub(crate) num_traces: u16,

    #[command(flatten)]
    pub(crate) settings: InsnSettings,
}

/// How a controller traces.
#[derive(Debug, Args)]
pub(crate) struct InsnSettings {
    /// How instructions are traced
    #[arg(long, value_enum, default_value_t = InsnControlEngine::Step)]
    pub(crate) engine: InsnControlEngine,

    /// Release a thread, or with `--engine block` a process, after N steps from start
    /// [default: no limit]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) budget: Option<u64>,

    /// Most memory of all buffers together, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 1024)]
    pub(crate) memory: u32,
}

/// How a controller traces instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum InsnControlEngine {
    /// One instruction at a time
    Step,
    /// Up to the next branch that depends on data, which has a breakpoint meanwhile. All threads of
    /// a process are slowed down, also those without a buffer
    Block,
    /// By Intel PT of the processor. It has not been run on such a processor yet
    Hardware,
}

/// The unit of tracing of a controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum InsnControlMode {
    /// A buffer for each CPU
    Cpu,
    /// Buffers are assigned to threads
    Thread,
}

#[derive(Debug, Args)]
pub(crate) struct InsnAllocArgs {
    #[command(flatten)]
    pub(crate) name: InsnName,

    /// Number of chunks, 1 to 4096
    #[arg(long, value_name = "N", default_value_t = 16)]
    pub(crate) num_chunks: u32,

    /// Size of a chunk: 2^N pages, 0 to 8
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub(crate) chunk_order: u32,

    /// Overwrite the oldest packets, instead of stopping when the buffer is full
    #[arg(long)]
    pub(crate) circular: bool,

    /// Control register; its bits are in docs/insntrace.md [default: 0x240c]
    #[arg(long, value_name = "BITS", value_parser = super::addresses::parse_number)]
    pub(crate) ctl: Option<u64>,

    /// Trace only the instructions from address A to address B, both included; at most twice
    #[arg(long, value_name = "A..B", value_parser = super::addresses::parse_addresses)]
    pub(crate) range: Vec<(u64, u64)>,

    /// Trace only the address space with this CR3; requires hardware
    #[arg(long, value_name = "CR3", default_value = "0", value_parser = super::addresses::parse_number)]
    pub(crate) cr3_match: u64,
}

#[derive(Debug, Args)]
pub(crate) struct InsnThreadArgs {
    #[command(flatten)]
    pub(crate) name: InsnName,

    /// Number of the buffer
    #[arg(value_name = "BUFFER")]
    pub(crate) buffer: u32,

    /// Thread id
    #[arg(value_name = "TID")]
    pub(crate) thread: u64,
}

#[derive(Debug, Args)]
pub(crate) struct InsnFreeArgs {
    #[command(flatten)]
    pub(crate) name: InsnName,

    /// Number of the buffer
    #[arg(value_name = "BUFFER")]
    pub(crate) buffer: u32,
}

#[derive(Debug, Args)]
pub(crate) struct InsnDumpArgs {
    #[command(flatten)]
    pub(crate) name: InsnName,

    /// Directory of the recording; created if it is missing
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: PathBuf,
}

/// Run a controller for clients of the library, one after another, until Ctrl-C
#[derive(Debug, Args)]
pub(crate) struct InsnServiceArgs {
    #[command(flatten)]
    pub(crate) name: InsnName,

    #[command(flatten)]
    pub(crate) settings: InsnSettings,

    /// Keep the trace when a client closes its connection
    #[arg(long, hide = true)]
    pub(crate) hold: bool,

    /// Process whose end ends this one, which traces for it
    #[arg(long, hide = true, requires = "hold", value_name = "PID")]
    pub(crate) parent: Option<u32>,
}

/// Parses a name that can be a part of a file name.
fn parse_name(text: &str) -> Result<String, String> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    match (1..=64).contains(&text.len()) && text.bytes().all(allowed) {
        true => Ok(text.to_owned()),
        false => Err("a name has 1 to 64 letters, digits, '-', '_' and '.'".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_parts_of_file_names() {
        assert_eq!(parse_name("a-B_1.x").as_deref(), Ok("a-B_1.x"));
        for wrong in ["", "a/b", "a b", &"x".repeat(65)] {
            assert!(parse_name(wrong).is_err(), "{wrong}");
        }
    }
}
