//! The threads whose kernel events are recorded.

use std::path::PathBuf;

/// The threads whose kernel events are recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum KernelScope {
    /// Those of the command and its children.
    Command,
    /// All.
    Machine,
    /// Those of these processes, and the threads and processes that these start.
    Processes(Vec<u64>),
    /// Those in a control group.
    Cgroup(PathBuf),
}

/// Parses `command`, `machine`, `cgroup:PATH`, or ids of processes.
pub(crate) fn parse_kernel_scope(text: &str) -> Result<KernelScope, String> {
    match text {
        "command" => return Ok(KernelScope::Command),
        "machine" => return Ok(KernelScope::Machine),
        _ => {}
    }
    if let Some(path) = text.strip_prefix("cgroup:").filter(|path| !path.is_empty()) {
        return Ok(KernelScope::Cgroup(path.into()));
    }
    let processes: Result<Vec<u64>, _> = text.split(',').map(str::parse).collect();
    let processes = processes.ok().filter(|processes| !processes.contains(&0));
    processes.map(KernelScope::Processes).ok_or_else(|| {
        format!("'{text}' is not command, machine, cgroup:PATH, or ids of processes such as 12,34")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes() {
        assert_eq!(parse_kernel_scope("command"), Ok(KernelScope::Command));
        assert_eq!(parse_kernel_scope("machine"), Ok(KernelScope::Machine));
        assert_eq!(parse_kernel_scope("12,34"), Ok(KernelScope::Processes(vec![12, 34])));
        let cgroup = KernelScope::Cgroup("/a:b".into());
        assert_eq!(parse_kernel_scope("cgroup:/a:b"), Ok(cgroup));
        for wrong in ["", "all", "cgroup:", "cgroup", "12,", "-1", "0", "1 2"] {
            assert!(parse_kernel_scope(wrong).is_err(), "{wrong}");
        }
    }
}
