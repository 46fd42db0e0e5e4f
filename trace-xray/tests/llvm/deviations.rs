//! Where LLVM's reader deviates from the specification, or from ours. `docs/xray.md` lists them.

use trace_xray::layout::{Action, ByteOrder, Version};
use trace_xray::map::Map;
use trace_xray::read::decode;
use trace_xray::{CustomEvent, EventTime, Format, Record, WallClock};

use crate::common::{items, Made};
use crate::tools::{dump, verify, xray, yaml, Work};

const V1: Format = Format::little(Version::V1);
const V5: Format = Format::little(Version::V5);

fn one_call(log: &mut Made) {
    log.start(7, 8);
    log.function(Action::Entry, 1, 5);
    log.function(Action::Exit, 1, 5);
}

/// A log of version 1 whose thread buffers have `padding` behind their ends, up to 1024 bytes.
fn padded(padding: u8) -> Vec<u8> {
    let mut log = Made::new(V1, 1024);
    for number in 1..=3 {
        log.buffer(one_call);
        log.bytes.resize(32 + number * 1024, padding);
    }
    log.bytes
}

#[test]
#[ignore = "requires LLVM's tools: run .ci/xray"]
fn padding_behind_end_of_buffer_is_read_as_records() {
    let calls = |log: &[u8]| {
        let (items, errors) = items(log, 100);
        assert_eq!(errors, [""; 0]);
        items.iter().filter(|item| item.record.kind().is_none()).count()
    };
    // Zeros are entries of function 0, which the conversion ignores up to the next NewBuffer.
    let zeros = padded(0);
    assert!(dump(&zeros).unwrap().contains("<Function Enter: #0 delta = +0>"));
    assert_eq!(yaml(&zeros).unwrap().matches("func-id: ").count(), 6);
    assert_eq!(calls(&zeros), 6);
    // Anything else is an error.
    for garbage in [0x5a, 0xff] {
        let log = padded(garbage);
        verify(&log).unwrap_err();
        yaml(&log).unwrap_err();
        assert_eq!(calls(&log), 6);
    }
}

#[test]
#[ignore = "requires LLVM's tools: run .ci/xray"]
fn thread_buffers_of_version_1_without_padding_are_read() {
    // The header has 1024 bytes; by the specification, the rest is skipped.
    let mut log = Made::new(V1, 1024);
    for _ in 0..3 {
        log.buffer(one_call);
    }
    verify(&log.bytes).unwrap();
    assert_eq!(yaml(&log.bytes).unwrap().matches("func-id: ").count(), 6);
    let (items, errors) = items(&log.bytes, 100);
    assert_eq!((items.len(), errors.len()), (log.records.len(), 0));
}

#[test]
#[ignore = "requires LLVM's tools: run .ci/xray"]
fn a_second_header_is_not_read() {
    for format in [V1, V5] {
        let mut log = Made::new(format, 0);
        log.buffer(one_call);
        let mut two = log.clone();
        two.extend(&log);
        let (found, errors) = items(&two.bytes, 100);
        assert_eq!((found.len(), errors.len()), (2 * log.records.len(), 0));
        // From version 3 on it is skipped. In version 1 it is read as a thread buffer.
        let theirs = dump(&two.bytes).unwrap();
        assert_eq!(theirs.contains("<Thread ID: 50331904>"), format == V1, "{theirs}");
        assert_eq!(verify(&two.bytes).is_ok(), format == V5);
    }
}

/// LLVM's reader reads the rest of the file as records of the thread.
#[test]
#[ignore = "requires LLVM's tools: run .ci/xray"]
fn padding_that_is_cut_off_is_read_as_records() {
    let mut log = Made::new(V1, 1024);
    log.buffer(one_call);
    log.raw(&[0; 16]);
    assert!(dump(&log.bytes).unwrap().contains("<Function Enter: #0 delta = +0>"));
    let (items, errors) = items(&log.bytes, 100);
    assert_eq!((items.len(), errors.len()), (log.records.len(), 1));
    assert!(errors[0].starts_with("PaddingTruncated"), "{errors:?}");
}

#[test]
#[ignore = "requires LLVM's tools: run .ci/xray"]
fn records_of_function_0_are_read() {
    let mut log = Made::new(V5, 0);
    log.buffer(|log| {
        log.start(7, 8);
        log.function(Action::Entry, 1, 5);
        log.function(Action::Exit, 1, 5);
    });
    // The lowest bits of the id in the entry.
    let entry = log.bytes.len() - 16;
    log.bytes[entry] &= 0x0f;
    assert!(yaml(&log.bytes).unwrap().contains("func-id: 0"));
    let (_, errors) = items(&log.bytes, 100);
    assert!(errors.len() == 1 && errors[0].starts_with("NoFunction"), "{errors:?}");
}

/// LLVM's reader begins another thread buffer at its first records, whatever the size of the one
/// before.
#[test]
#[ignore = "requires LLVM's tools: run .ci/xray"]
fn extents_that_reach_into_another_buffer_are_ignored() {
    for version in Version::ALL.into_iter().filter(|version| version.has_extents()) {
        let mut log = Made::new(Format::little(version), 0);
        for thread in [8, 9] {
            log.buffer(|log| {
                log.start(7, thread);
                log.function(Action::Entry, thread as u32, 5);
            });
        }
        // Its lowest byte.
        log.bytes[33] += 100;
        let (items, errors) = items(&log.bytes, 100);
        let calls = items.iter().filter(|item| item.record.kind().is_none());
        let threads: Vec<_> = calls.map(|item| item.thread).collect();
        assert_eq!((threads, errors.len()), (vec![8, 9], 1), "{errors:?}");
        let theirs = yaml(&log.bytes).unwrap();
        for thread in [8, 9] {
            let call = theirs.lines().find(|line| line.contains(&format!("func-id: {thread}")));
            assert!(call.unwrap().contains(&format!("thread: {thread}")), "{theirs}");
        }
    }
}

#[test]
#[ignore = "requires LLVM's tools: run .ci/xray"]
fn thread_ids_have_4_bytes() {
    let mut log = Made::new(V1, 0);
    log.buffer(|log| {
        log.start(7, 0x0102_0304);
        log.function(Action::Entry, 1, 5);
    });
    assert!(dump(&log.bytes).unwrap().contains("<Thread ID: 16909060>"));
    assert_eq!(items(&log.bytes, 100).0[0].thread, 16_909_060);
}

#[test]
#[ignore = "requires LLVM's tools: run .ci/xray"]
fn big_endian_logs_are_not_read() {
    for version in Version::ALL {
        let format = Format { version, order: ByteOrder::Big };
        let mut log = Made::new(format, 0);
        log.buffer(one_call);
        let (found, errors) = items(&log.bytes, 100);
        assert_eq!((found.len(), errors.len()), (log.records.len(), 0));
        yaml(&log.bytes).unwrap_err();
    }
}

#[test]
#[ignore = "requires LLVM's tools: run .ci/xray"]
fn an_argument_makes_any_function_record_an_entry() {
    let mut log = Made::new(V5, 0);
    log.buffer(|log| {
        log.start(7, 8);
        log.function(Action::Entry, 1, 5);
        log.function(Action::Exit, 1, 5);
        log.put(Record::CallArgument { value: 42 });
    });
    verify(&log.bytes).unwrap();
    let yaml = yaml(&log.bytes).unwrap();
    assert!(yaml.contains("args: [ 42 ]") && !yaml.contains("function-exit"), "{yaml}");
    let (_, errors) = items(&log.bytes, 100);
    assert_eq!(errors.len(), 1);
    assert!(errors[0].contains("CallArgument"), "{errors:?}");
}

#[test]
#[ignore = "requires LLVM's tools: run .ci/xray"]
fn fdr_dump_does_not_check_the_version() {
    for version in [0, 6] {
        let mut log = Made::new(V5, 0);
        log.buffer(one_call);
        log.bytes[0] = version;
        dump(&log.bytes).unwrap();
        yaml(&log.bytes).unwrap_err();
        decode::header(&log.bytes).unwrap_err();
    }
}

#[test]
#[ignore = "requires LLVM's tools: run .ci/xray"]
fn the_process_of_version_2_is_the_thread() {
    let mut log = Made::new(Format::little(Version::V2), 0);
    log.buffer(one_call);
    assert!(yaml(&log.bytes).unwrap().contains("thread: 8, process: 8"));
    assert_eq!(items(&log.bytes, 100).0[5].process, None);
}

#[test]
#[ignore = "requires LLVM's tools: run .ci/xray"]
fn a_custom_event_has_the_function_before() {
    let mut log = Made::new(V5, 0);
    log.buffer(|log| {
        log.start(7, 8);
        log.function(Action::Entry, 3, 5);
        log.put(Record::CustomEvent(CustomEvent { time: EventTime::Delta(1), payload: b"x" }));
    });
    let yaml = yaml(&log.bytes).unwrap();
    let event = yaml.lines().find(|line| line.contains("custom-event")).unwrap();
    assert!(event.contains("func-id: 3"), "{event}");
}

/// A log that ends with zeros, as after a crash.
#[test]
#[ignore = "requires LLVM's tools: run .ci/xray"]
fn zeros_behind_the_last_thread_buffer_are_an_error() {
    let mut log = Made::new(V5, 0);
    log.buffer(one_call);
    log.raw(&[0; 4096]);
    verify(&log.bytes).unwrap_err();
    let (items, errors) = items(&log.bytes, 100);
    assert_eq!((items.len(), errors.len()), (log.records.len(), 0));
}

/// A log that was cut between two records.
#[test]
#[ignore = "requires LLVM's tools: run .ci/xray"]
fn a_cut_between_records_is_not_noticed() {
    let mut log = Made::new(V5, 0);
    log.buffer(one_call);
    log.bytes.truncate(log.bytes.len() - 8);
    verify(&log.bytes).unwrap();
    let (items, errors) = items(&log.bytes, 100);
    assert_eq!((items.len(), errors.len()), (log.records.len() - 1, 1));
    assert!(errors[0].starts_with("Truncated"), "{errors:?}");
}

#[test]
#[ignore = "requires LLVM's tools: run .ci/xray"]
fn names_in_yaml_maps_are_ignored() {
    let work = Work::new();
    let yaml = "- { id: 1, address: 0x1000, function: 0x1000, kind: function-enter, \
                always-instrument: true, function-name: 'named', version: 2 }\n";
    let map = work.file("map.yaml", yaml.as_bytes());
    let mut log = Made::new(V5, 0);
    log.buffer(one_call);
    let log = work.file("log", &log.bytes);
    let files = [map.to_str().unwrap(), log.to_str().unwrap()];
    let output = xray(&[&["convert", "-f", "yaml", "-symbolize", "-m"][..], &files].concat());
    assert!(output.unwrap().contains("function: '@(1000)'"));
    let map = Map::parse(yaml.as_bytes()).unwrap();
    let (_, function) = map.functions().next().unwrap();
    assert_eq!(function.name().as_deref(), Some("named"));
}

#[test]
#[ignore = "requires LLVM's tools: run .ci/xray"]
fn a_map_with_a_typed_event_is_not_read() {
    let work = Work::new();
    let mut file = trace_xray::map::write(&["main"], None).unwrap();
    assert_eq!(Map::parse(&file).unwrap().sleds().len(), 1);
    // The kind of the sled, behind its two addresses; its entry is 32 bytes long.
    let entry = file.windows(3).position(|bytes| bytes == [0, 1, 2]).unwrap();
    file[entry] = 5;
    let path = work.file("map", &file);
    let error = xray(&["extract", path.to_str().unwrap()]).unwrap_err();
    assert!(error.contains("Exec format error"), "{error}");
    let kind = Map::parse(&file).unwrap().sleds()[0].kind;
    assert_eq!(kind, trace_xray::layout::SledKind::TypedEvent);
}

/// `account` compares all times with that of the first record of any thread.
#[test]
#[ignore = "requires LLVM's tools: run .ci/xray"]
fn account_refuses_threads_that_start_earlier_than_the_first_one() {
    let work = Work::new();
    let account = |threads: [i32; 2]| {
        let mut log = Made::new(V5, 0);
        for (thread, function) in threads.into_iter().zip([1, 2]) {
            log.buffer(|log| {
                log.start(7, thread);
                log.put(Record::TscWrap { tsc: 1000 * u64::from(function) });
                log.function(Action::Entry, function, 1);
                log.function(Action::Exit, function, 1);
            });
        }
        let log = work.file("log", &log.bytes);
        xray(&["account", log.to_str().unwrap()])
    };
    // Which thread is the first one depends on a hash.
    let results = [account([8, 9]), account([9, 8])];
    assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1, "{results:?}");
}

/// LLVM sorts the thread buffers of a thread by their wall clocks, but compares seconds and
/// fractions one by one. So buffers within a second have no order, and `account` sees an exit
/// before its entry.
#[test]
#[ignore = "requires LLVM's tools: run .ci/xray"]
fn account_refuses_threads_with_many_buffers() {
    let work = Work::new();
    let account = |buffers: u32| {
        let mut log = Made::new(V5, 0);
        for number in 0..buffers {
            log.buffer(|log| {
                log.put(Record::NewBuffer { thread: 8 });
                log.put(Record::WallClock(WallClock { seconds: 12, micros: number }));
                log.put(Record::Pid { pid: 7 });
                log.put(Record::NewCpuId { cpu: 1, tsc: 1000 * u64::from(number + 1) });
                // An entry in each buffer has its exit in the next one.
                if number > 0 {
                    log.function(Action::Exit, number, 1);
                }
                log.function(Action::Entry, number + 1, 1);
            });
        }
        assert_eq!(items(&log.bytes, 100).1, [""; 0]);
        let log = work.file("log", &log.bytes);
        xray(&["account", log.to_str().unwrap()])
    };
    account(16).unwrap();
    let error = account(17).unwrap_err();
    assert!(error.contains("(empty stack)"), "{error}");
}
