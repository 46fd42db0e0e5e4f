//! Streaming into a file: a buffer that fills many times over loses nothing and saves each record once.
#![cfg(all(target_os = "linux", not(feature = "ntrace")))]

use trace_format::record::{EventKind, Record};
use trace_format::Reader;
use trace_runtime::{trace_counter, trace_duration};

#[test]
fn all_of_many_buffers_is_saved_in_order() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("stream.fxt");
    let trace = trace_runtime::builder().output(&path).buffer_size(1 << 20).streaming().init();
    for value in 0..200_000u64 {
        trace_duration!("test", "scope");
        trace_counter!("test", "counter", 0, "value" => value);
        if value % 2000 == 0 {
            // Slower than the disk: nothing may be lost.
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
    }
    drop(trace);
    let (values, lost) = counter_values(&path);
    assert_eq!(lost, 0);
    assert_eq!(values, (0..200_000).collect::<Vec<u64>>());
    assert!(
        !path.with_extension("fxt.buffer").exists() && !path.with_extension("fxt.partial").exists()
    );
}

fn counter_values(path: &std::path::Path) -> (Vec<u64>, u64) {
    let mut reader = Reader::new(std::fs::File::open(path).unwrap());
    let (mut values, mut lost) = (Vec::new(), 0);
    while let Some(item) = reader.next().unwrap() {
        let Record::Event(event) = &item.record else { continue };
        if item.text(event.name) == "records dropped" {
            lost += 1;
        }
        if let EventKind::Counter { .. } = event.kind {
            for argument in event.arguments.iter() {
                if let trace_format::record::Value::Uint64(value) = argument.value {
                    values.push(value);
                }
            }
        }
    }
    (values, lost)
}
