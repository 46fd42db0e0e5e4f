//! Streaming into a file: if the buffer fills many times, each record is saved exactly once.
#![cfg(all(target_os = "linux", not(feature = "ntrace")))]

use trace_format::record::{EventKind, Record, Value};
use trace_format::Reader;
use trace_runtime::{trace_counter, trace_duration};

const VALUES: u64 = 200_000;

#[test]
fn all_of_many_buffers_is_saved_in_order() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("stream.fxt");
    let trace = trace_runtime::builder().output(&path).buffer_size(1 << 20).streaming().init();
    for value in 0..VALUES {
        trace_duration!("test", "scope");
        trace_counter!("test", "counter", 0, "value" => value);
        if value % 2000 == 0 {
            // Slower than the disk, unless the machine is very busy.
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
    }
    drop(trace);
    let Found { values, scopes, lost } = read(&path);
    assert_eq!(values.len() as u64 + scopes + lost, 2 * VALUES);
    assert!(values.windows(2).all(|pair| pair[0] < pair[1]), "in order, and none twice");
    assert!(values.len() > 50_000, "many times the buffer: {} values", values.len());
    if lost == 0 {
        assert_eq!(values, (0..VALUES).collect::<Vec<u64>>());
    }
    assert!(
        !path.with_extension("fxt.buffer").exists() && !path.with_extension("fxt.partial").exists()
    );
}

/// The contents of the archive.
#[derive(Default)]
struct Found {
    values: Vec<u64>,
    scopes: u64,
    lost: u64,
}

fn read(path: &std::path::Path) -> Found {
    let mut reader = Reader::new(std::fs::File::open(path).unwrap());
    let mut found = Found::default();
    while let Some(item) = reader.next().unwrap() {
        let Record::Event(event) = &item.record else { continue };
        let numbers = event.arguments.iter().filter_map(|argument| match argument.value {
            Value::Uint64(number) => Some((item.text(argument.name).to_string(), number)),
            _ => None,
        });
        match event.kind {
            EventKind::Counter { .. } => found.values.extend(numbers.map(|(_, number)| number)),
            EventKind::DurationComplete { .. } | EventKind::DurationBegin => found.scopes += 1,
            _ if item.text(event.name) == "records dropped" => {
                found.lost += numbers
                    .filter(|(key, _)| key == "number")
                    .map(|(_, number)| number)
                    .sum::<u64>();
            }
            _ => {}
        }
    }
    found
}
