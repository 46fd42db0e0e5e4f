//! Every lost record has its thread, reason and window, also in small buffers and after SIGKILL.

use std::time::{Duration, Instant};

use crate::harness::{
    recover, subject, wait_until, Archive, Provider, Run, Session, MODES, PATIENCE,
};

/// More events than any test can record.
const FOR_EVER: &str = "1000000000000";

/// Checks that each loss has the thread `thread`, a reason and a window, and that their sum is
/// `lost`.
#[track_caller]
fn are_accounted_for(provider: &Provider, thread: u64, lost: u64) {
    assert_eq!(provider.lost(), lost, "{:?}", provider.lost);
    for loss in &provider.losses {
        assert!(!loss.texts["reason"].starts_with("reason not known"), "{loss:?}");
        assert_eq!(loss.thread, thread, "{loss:?}");
        let (from, to) = (loss.numbers["from"], loss.numbers["to"]);
        assert!(0 < from && from <= to, "{loss:?}");
    }
}

#[test]
fn losses_of_a_program_that_ends_are_accounted_for() {
    for mode in MODES {
        let session = Session::start(mode, 64 << 10);
        assert_eq!(Run::of(&mut session.subject(&["burst", "300000"])).code(), 0);
        let (archive, summary) = session.end();
        let provider = archive.only();
        are_accounted_for(provider, provider.pid, summary.lost());
    }
}

#[test]
fn losses_of_a_killed_program_are_accounted_for() {
    for mode in MODES {
        let session = Session::start(mode, 64 << 10);
        let mut program = session.subject(&["burst", FOR_EVER]).spawn().unwrap();
        // Circular and streaming mode may have no losses.
        let patience = if mode == "oneshot" { PATIENCE } else { Duration::from_secs(1) };
        assert!(session.handle.wait_provider(PATIENCE));
        let start = Instant::now();
        while session.handle.progress().lost == 0 && start.elapsed() < patience {
            std::thread::yield_now();
        }
        program.kill().unwrap();
        program.wait().unwrap();
        let (archive, summary) = session.end();
        let provider = archive.only();
        assert!(mode != "oneshot" || summary.lost() > 0);
        are_accounted_for(provider, provider.pid, summary.lost());
    }
}

#[test]
fn losses_of_a_killed_program_that_traces_itself_are_recovered() {
    for mode in ["oneshot", "circular"] {
        let directory = tempfile::tempdir().unwrap();
        let output = directory.path().join("out.fxt");
        let mut program = subject(&["burst", FOR_EVER]);
        program
            .env("TRACE_OUTPUT", &output)
            .env("TRACE_BUFFERING_MODE", mode)
            .env("TRACE_BUFFER_SIZE", "64K");
        let mut program = program.spawn().unwrap();
        wait_until("it records", || directory.path().join("out.fxt.buffer").exists());
        std::thread::sleep(Duration::from_millis(500));
        program.kill().unwrap();
        program.wait().unwrap();
        recover(&output);
        let archive = Archive::read(&output);
        let provider = archive.only();
        assert!(mode != "oneshot" || provider.lost() > 0);
        are_accounted_for(provider, provider.pid, provider.lost());
    }
}
