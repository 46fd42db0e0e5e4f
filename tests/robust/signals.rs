//! Signal handlers that trace, at a high rate.

use crate::harness::{Provider, Run, Session, Shape, MODES};

/// Runs a role that prints the counts of its handler and its main thread, and calls `look` with the
/// archive and these counts.
fn run(mode: &str, size: u64, role: &[&str], look: impl FnOnce(&Provider, u64, u64)) {
    let session = Session::start(mode, size);
    let child = session.subject(role).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let run = Run::end_of(child);
    assert_eq!(run.code(), 0, "{run:?}");
    let said = run.stdout();
    let (handled, rounds) = said.trim().split_once(' ').unwrap();
    let (archive, _) = session.end();
    look(archive.only(), handled.parse().unwrap(), rounds.parse().unwrap());
}

/// Checks that each record of the handlers is in the archive once and in order, or counted as lost.
fn check_handlers(provider: &Provider, handled: u64) {
    for name in ["handler", "handler scope"] {
        let numbers = provider.numbers(name);
        assert!(numbers.is_sorted_by(|a, b| a < b), "{name}: in order, none repeated");
    }
    // A duration in which a rolling buffer became full has a begin and an end.
    let shapes = |is: fn(Shape) -> bool| {
        provider.named("handler scope").filter(|event| is(event.shape)).count()
    };
    let ends = shapes(|shape| shape == Shape::End);
    assert_eq!(shapes(|shape| shape == Shape::Begin), ends, "each begin has an end");
    let recorded = provider.count("handler") + provider.count("handler scope") - ends;
    let nested = provider.lost.get("signal handler inside a record").copied().unwrap_or(0);
    assert_eq!(provider.lost(), nested, "no other records are missing: {:?}", provider.lost);
    assert_eq!(recorded as u64 + nested, 2 * handled, "each record is in the archive or counted");
}

#[test]
fn records_of_signal_handlers_are_in_the_archive_or_counted() {
    for mode in MODES {
        run(mode, 64 << 20, &["signals", "5000"], |provider, handled, rounds| {
            assert!(handled > 0 && rounds >= 5000);
            check_handlers(provider, handled);
            for name in ["instant", "scope"] {
                assert_eq!(
                    provider.numbers(name),
                    Vec::from_iter(0..rounds),
                    "{name}: all interrupted events"
                );
            }
        });
    }
}

#[test]
fn records_of_signal_handlers_in_new_threads_are_in_the_archive_or_counted() {
    const THREADS: u64 = 400;
    run("streaming", 64 << 20, &["first-records", &THREADS.to_string()], |provider, handled, _| {
        // On a busy machine, a new thread may have to wait for the service thread: its records are
        // dropped and counted.
        let names = ["instant", "handler", "handler scope"];
        let recorded: usize = names.iter().map(|name| provider.count(name)).sum();
        assert_eq!(
            recorded as u64 + provider.lost(),
            2 * handled + THREADS,
            "each record is in the archive or counted"
        );
    });
}

#[test]
fn records_of_signal_handlers_in_many_small_buffers_are_in_the_archive_or_counted() {
    for mode in MODES {
        run(mode, 16 << 10, &["signals", "5000"], |provider, handled, rounds| {
            let names = ["handler", "handler scope", "instant", "scope"];
            let mut recorded = 0;
            for name in names {
                let numbers: Vec<u64> = provider
                    .named(name)
                    .filter_map(|event| event.numbers.get("number").copied())
                    .collect();
                assert!(
                    numbers.is_sorted_by(|a, b| a < b),
                    "{mode}, {name}: in order, none repeated"
                );
                recorded += numbers.len() as u64;
            }
            let all = 2 * handled + 2 * rounds;
            match mode {
                // Ends of scopes can be separate records there, which may be lost in addition to
                // their begins.
                "streaming" => assert!(recorded <= all && recorded + provider.lost() >= all),
                "oneshot" => assert_eq!(recorded + provider.lost(), all),
                _ => assert!(recorded <= all),
            }
        });
    }
}
