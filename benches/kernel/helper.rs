//! The process that records the kernel's events, as `trace record` starts it.

use std::io::Read;

use trace_kernel::live::{KernelProvider, Options, SampleOptions, Scope, Server, DEFAULT_SOCKET};

use crate::process::{cpu_nanos, number};

/// Records until standard input ends. Prints `ready`, then its CPU time in nanoseconds and the
/// number of events that the kernel dropped.
pub(crate) fn run(categories: &str, buffer: &str, thread: &str) {
    let provider = KernelProvider::start(&Options {
        categories: categories.split(',').map(str::to_owned).collect(),
        scope: Scope::Threads(vec![number(thread)]),
        buffer_size: number(buffer),
        server: Server::Socket(DEFAULT_SOCKET.into()),
        samples: SampleOptions::default(),
    });
    let provider = provider.expect("the kernel can be traced");
    let before = cpu_nanos();
    println!("ready");
    let _closed = std::io::stdin().read_to_end(&mut Vec::new());
    let during = cpu_nanos() - before;
    let totals = provider.end();
    println!("{during} {}", totals.dropped);
}
