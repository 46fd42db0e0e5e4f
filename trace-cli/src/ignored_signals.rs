//! The signals that this process ignores because its caller does, as under `nohup`.

use std::fs;

use signal_hook::consts::SIGHUP;

/// Signals, divided by what this process does at them. Look before any is handled.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Divided {
    /// Those that it does not ignore.
    pub(crate) own: Vec<i32>,
    /// Those that it ignores, and the programs that it starts, too. They may be handled afterwards.
    pub(crate) ignored: Vec<i32>,
}

/// Divides signals. An ignored SIGHUP is in neither list: the caller wants no end with the
/// terminal.
pub(crate) fn divide(signals: &[i32]) -> Divided {
    // Without `/proc`, none is ignored.
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    divide_by(ignored_of(&status), signals)
}

/// Returns those of the signals that this process is to handle: all but an ignored SIGHUP.
pub(crate) fn to_handle(signals: &[i32]) -> impl Iterator<Item = i32> {
    let Divided { own, ignored } = divide(signals);
    own.into_iter().chain(ignored)
}

fn divide_by(set: u64, signals: &[i32]) -> Divided {
    let (mut ignored, own): (Vec<i32>, Vec<i32>) =
        signals.iter().partition(|signal| set & (1 << (*signal - 1)) != 0);
    ignored.retain(|signal| *signal != SIGHUP);
    Divided { own, ignored }
}

/// Returns the set of a file `status` of a process: signal N is bit N - 1.
fn ignored_of(status: &str) -> u64 {
    let set = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    set.and_then(|set| u64::from_str_radix(set.trim(), 16).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use signal_hook::consts::{SIGINT, SIGTERM};

    use super::*;

    #[test]
    fn ignored_signals_are_found() {
        let status = "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000003\nSigCgt:\t4000\n";
        assert_eq!(ignored_of(status), 3);
        assert_eq!(ignored_of("Name:\ttrace\n"), 0);
        let divided = divide_by(3, &[SIGHUP, SIGINT, SIGTERM]);
        assert_eq!(divided, Divided { own: vec![SIGTERM], ignored: vec![SIGINT] });
        let divided = divide_by(0, &[SIGHUP, SIGINT]);
        assert_eq!(divided, Divided { own: vec![SIGHUP, SIGINT], ignored: vec![] });
    }
}
