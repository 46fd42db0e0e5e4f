//! `trace symbolize`

use trace_format::{Backtrace, Mmap, Module, Process, Record, Thread, ThreadKoids, Writer};

use crate::harness::{good, Place, Run};

/// Returns an archive with samples in a file that does not exist.
fn sampled() -> Vec<u8> {
    let process = Process::Inline(7);
    let (module_id, name, build_id) = (3, &b"/no/such/library.so"[..], &[1, 2][..]);
    let module = Module { ticks: 1, process, module_id, name, build_id };
    let (flags, start, length, module_address) = (5, 0x1000, 0x1000, 0x40);
    let mmap = Mmap { ticks: 1, process, module_id, flags, start, length, module_address };
    let thread = Thread::Inline(ThreadKoids::new(7, 8));
    let frames = (&[0x1010, 0x1020, 0x9000][..]).into();
    let backtrace = Backtrace { ticks: 10, thread, frames };
    let mut writer = Writer::new(Vec::new()).unwrap();
    writer.provider(1, "perf").unwrap();
    for record in [Record::from(module), mmap.into(), backtrace.into()] {
        writer.record(&record).unwrap();
    }
    writer.into_inner()
}

#[test]
fn missing_names_are_reported() {
    let place = Place::new();
    place.put("in.fxt", &sampled());
    let run = place.run(&["symbolize", "in.fxt", "-o", "out.fxt"]);
    let stderr = "trace: functions without names: /no/such/library.so cannot be read\n\
                  trace: names of 0 addresses added\n\
                  trace: in.fxt: addresses without a name: 2\n\
                  trace: in.fxt: frames outside of all modules: 1\n";
    assert_eq!(run, Run { code: 0, stdout: String::new(), stderr: stderr.to_owned() });
    assert_eq!(std::fs::read(place.path("out.fxt")).unwrap(), sampled());
}

#[test]
fn an_archive_without_samples_is_copied() {
    let place = Place::new();
    let run = place.run_with(&["symbolize", "-", "-o", "out.fxt"], &good());
    let stderr = "trace: no samples of call stacks (record with --samples)\n\
                  trace: names of 0 addresses added\n";
    assert_eq!(run, Run { code: 0, stdout: String::new(), stderr: stderr.to_owned() });
    assert_eq!(std::fs::read(place.path("out.fxt")).unwrap(), good());
    let run = place.run_with(&["symbolize", "-", "-o", "out.json"], &good());
    assert_eq!(run.code, 1, "{run:?}");
}
