//! The description of the machine, and the memory of this process.

use std::fs::read_to_string;
use std::io;
use std::process::Command;
use std::thread::available_parallelism;

/// Returns one line: processor, cores, kernel, compiler.
pub fn describe() -> String {
    let cores =
        available_parallelism().map_or("unknown number of".to_owned(), |cores| cores.to_string());
    let kernel =
        read_to_string("/proc/sys/kernel/osrelease").unwrap_or_else(|_| "unknown".to_owned());
    let rustc = Command::new("rustc").arg("--version").output();
    let rustc = rustc.map_or("rustc unknown".to_owned(), |output| {
        String::from_utf8_lossy(&output.stdout).into_owned()
    });
    format!("{}, {cores} cores, Linux {}, {}", processor(), kernel.trim(), rustc.trim())
}

fn processor() -> String {
    let info = read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    model.map_or(std::env::consts::ARCH, |(_, name)| name.trim()).to_owned()
}

/// Returns the resident memory of this process, in KiB.
pub fn resident_kib() -> io::Result<u64> {
    status_kib("VmRSS:")
}

/// Returns the peak resident memory of this process, in KiB.
pub fn peak_resident_kib() -> io::Result<u64> {
    status_kib("VmHWM:")
}

/// Returns a field of proc_pid_status(5).
fn status_kib(field: &str) -> io::Result<u64> {
    let status = read_to_string("/proc/self/status")?;
    let value = status
        .lines()
        .find_map(|line| line.strip_prefix(field)?.trim().strip_suffix(" kB")?.parse().ok());
    value.ok_or_else(|| io::Error::other(format!("no {field} in /proc/self/status")))
}
