//! Records that affect earlier ones.

use trace_format::layout::ObjectType;
use trace_format::{Arguments, EventKind, KernelObject, Process, Record, UserspaceObject};

use super::convert_bytes;
use crate::testing::{archive, event};

fn converted(records: &[Record<'_>]) -> Vec<String> {
    convert_bytes(&archive(records)).0
}

fn instant() -> Record<'static> {
    event(EventKind::Instant { scope: None }, &[])
}

#[test]
fn objects_before_all_events_get_the_first_time() {
    let object = |pointer| {
        let (process, name, arguments) = (Process::Inline(12), "a".into(), Arguments::NONE);
        Record::UserspaceObject(UserspaceObject { process, pointer, name, arguments })
    };
    let lines = converted(&[object(1), object(2), instant()]);
    let times = lines.iter().filter(|line| line.contains("\"ts\":1.500")).count();
    assert_eq!(times, 3, "{lines:#?}");
    // An archive without times.
    assert!(converted(&[object(1)])[0].contains("\"ts\":0.000"));
}

#[test]
fn a_thread_named_without_its_process_is_named_in_the_process_of_its_events() {
    let (object_type, arguments) = (ObjectType::THREAD, Arguments::NONE);
    let name = KernelObject { object_type, koid: 34, name: "main".into(), arguments };
    let expected = r#"{"ph":"M","pid":12,"tid":34,"name":"thread_name","args":{"name":"main"}}"#;
    for records in [[name.into(), instant()], [instant(), name.into()]] {
        let lines = converted(&records);
        let names: Vec<&String> =
            lines.iter().filter(|line| line.contains("thread_name")).collect();
        assert_eq!(names, [expected]);
    }
}
