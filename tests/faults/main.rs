//! Each system call of the manager fails in turn, with each error that it can have. The kernel
//! makes it fail (ptrace), so the tested command is the one that users have, and its libraries are
//! tested, too.
//!
//! After each fault: no panic, a message, and an archive that is complete or reported; a daemon
//! continues without leaked descriptors, threads and mappings; the traced program is not affected.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

#[path = "../harness/mod.rs"]
#[allow(dead_code, unused_imports, reason = "other tests use the rest")]
mod harness;

mod calls;
mod clock;
mod daemon;
mod injector;
mod parts;
mod ptrace;
mod record;
mod restart;

use std::collections::BTreeMap;

use calls::{Effect, EXEMPT};
use injector::Fault;

/// The calls of each kind that fail in turn in a usual test run. All do in the ignored tests.
const USUAL: u64 = 2;

/// Returns the faults for calls that were counted: the first `most` of each kind, and the last one.
///
/// # Panics
/// If a call is neither in the list of faults nor exempt.
fn faults(counted: &BTreeMap<u64, u64>, most: u64) -> Vec<Fault> {
    let (mut faults, mut unlisted) = (Vec::new(), Vec::new());
    for (number, count) in counted {
        let Some(call) = calls::find(*number) else {
            if !EXEMPT.iter().any(|(exempt, _)| *exempt as u64 == *number) {
                unlisted.push(*number);
            }
            continue;
        };
        let last = (*count > most).then_some(*count);
        for nth in (1..=most.min(*count)).chain(last) {
            let with = |effect| Fault { number: *number, nth, effect };
            faults.extend(calls::effects(call).into_iter().map(with));
        }
    }
    assert!(unlisted.is_empty(), "the system calls {unlisted:?} are in no list");
    faults
}

/// Returns a fault as text.
fn describe(fault: Fault) -> String {
    let name = calls::find(fault.number).map_or("?", |call| call.name);
    let effect = match fault.effect {
        Effect::Error(error) => std::io::Error::from_raw_os_error(error).to_string(),
        Effect::Short => "half of the bytes".to_owned(),
    };
    format!("call {} of {name}: {effect}", fault.nth)
}
