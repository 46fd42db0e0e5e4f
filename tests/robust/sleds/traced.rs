//! A program with scopes of its own.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::OnceLock;

use super::{compile, Recorded, SLEDS};
use crate::harness::building::products;
use crate::harness::{Archive, Shape};

/// Returns the program, compiled once.
fn program() -> &'static PathBuf {
    static BUILT: OnceLock<(tempfile::TempDir, PathBuf)> = OnceLock::new();
    let (_, program) = BUILT.get_or_init(|| {
        let [library, dependencies] =
            ["libtrace_runtime.rlib", "deps"].map(|it| products().join(it));
        let directory = tempfile::tempdir().unwrap();
        let library = format!("trace_runtime={}", library.display());
        let dependencies = format!("dependency={}", dependencies.display());
        let options = [SLEDS, "--extern", &library, "-L", &dependencies];
        let program = compile("traced.rs", directory.path().join("traced"), &options);
        (directory, program)
    });
    program
}

/// Returns the number of durations by name. Those of each thread are nested, whoever records them.
#[track_caller]
fn nested(archive: &Archive) -> BTreeMap<&str, usize> {
    let mut threads: BTreeMap<u64, Vec<_>> = BTreeMap::new();
    let mut counts = BTreeMap::new();
    for event in archive.providers.iter().flat_map(|it| &it.events) {
        if let Shape::Complete(end) = event.shape {
            let duration = (event.ticks, Reverse(end), event.name.as_str());
            threads.entry(event.thread).or_default().push(duration);
            *counts.entry(event.name.as_str()).or_default() += 1;
        }
    }
    for mut durations in threads.into_values() {
        durations.sort_unstable();
        let mut open: Vec<(u64, &str)> = Vec::new();
        for (begin, Reverse(end), name) in durations {
            open.retain(|(last, _)| *last > begin);
            if let Some((last, around)) = open.last() {
                assert!(end <= *last, "{name} {begin}..{end} ends after {around} at {last}");
            }
            open.push((end, name));
        }
    }
    counts
}

/// The recording of a scope is no call of the program, and a call is around its scopes.
#[test]
fn scopes_and_calls_are_nested_in_each_other() {
    let recorded = Recorded::of(program(), &["-m", "oneshot", "-b", "64M"], &[]);
    assert_eq!(recorded.output, "245\n");
    let counts = nested(&recorded.archive);
    let of = |name| counts.get(name).copied().unwrap_or(0);
    assert_eq!(["create", "double", "format"].map(of), [100; 3], "{counts:?}");
    assert_eq!(of("<traced::Item>::new"), 100, "{counts:?}");
    let own = counts.keys().filter(|name| name.contains("trace_runtime"));
    assert_eq!(own.count(), 0, "{counts:?}");
}

/// `app::*` has the methods of the program's types, too.
#[test]
fn methods_are_selected_by_the_path_of_their_type() {
    let recorded = Recorded::of(program(), &["--functions", "traced::*,-*::fmt"], &[]);
    let counts = nested(&recorded.archive);
    let of = |name| counts.get(name).copied().unwrap_or(0);
    let names = ["<traced::Item>::new", "<traced::Item as traced::Double>::double", "traced::main"];
    assert_eq!(names.map(of), [100, 100, 1], "{counts:?}");
    let others = |name: &&&str| name.contains("::fmt") || name.starts_with("core::");
    assert_eq!(counts.keys().filter(others).count(), 0, "{counts:?}");
}
