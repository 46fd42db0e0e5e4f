//! Format files: those of a kernel, changed ones, and random ones.

use proptest::prelude::*;
use trace_kernel::format::{EventFormat, FormatError, FormatFault, Shape, Value};
use trace_kernel::ByteOrder;

const FORMATS: &str = include_str!("captured/formats");

/// Returns the system and the file of each format.
fn files() -> impl Iterator<Item = (&'static str, &'static str)> {
    FORMATS.split("system: ").skip(1).map(|part| part.split_once('\n').unwrap())
}

fn named(name: &str) -> &'static str {
    let line = format!("name: {name}\n");
    files().find(|(_, file)| file.starts_with(&line)).unwrap().1
}

#[test]
fn a_switch() {
    let format = EventFormat::parse("sched", named("sched_switch")).unwrap();
    assert_eq!((&*format.system, &*format.name, format.id), ("sched", "sched_switch", 372));
    let place = |name: &str| {
        let field = format.field(name).unwrap();
        (field.offset, field.size, field.shape)
    };
    assert_eq!(place("common_type"), (0, 2, Shape::Unsigned));
    assert_eq!(place("common_pid"), (4, 4, Shape::Signed));
    assert_eq!(place("prev_comm"), (8, 16, Shape::Text));
    assert_eq!(place("prev_state"), (32, 8, Shape::Signed));
    assert_eq!(place("next_prio"), (60, 4, Shape::Signed));
    assert_eq!((format.common.len(), format.fields.len()), (4, 7));
    let states = [1, 2, 4, 8, 16, 32, 64, 128].map(|state| format.symbol(state).unwrap());
    assert_eq!(states, ["S", "D", "T", "t", "X", "Z", "P", "I"]);
    assert_eq!(format.symbol(3), None);
}

#[test]
fn every_format_of_a_kernel() {
    let mut ids = Vec::new();
    for (system, file) in files() {
        let format = EventFormat::parse(system, file).unwrap();
        assert_eq!(format.common.len(), 4, "{}", format.name);
        let lines = file.lines().filter(|line| line.starts_with("\tfield:")).count();
        assert_eq!(format.common.len() + format.fields.len(), lines, "{}", format.name);
        ids.push(format.id);
    }
    assert!(ids.len() > 30);
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count);
}

#[test]
fn malformed_formats() {
    let file = named("sched_waking");
    let parse = |text: &str| EventFormat::parse("sched", text).map(|format| format.id);
    let fails = |text: &str, line, fault| assert_eq!(parse(text), Err(FormatError { line, fault }));
    fails(&file.replace("name: sched_waking", ""), 0, FormatFault::NoName);
    fails(&file.replace("name: sched_waking", "name: "), 0, FormatFault::NoName);
    fails(&file.replace("ID: ", "Id: "), 0, FormatFault::NoId);
    fails(&file.replace("ID: ", "ID: 65536"), 2, FormatFault::NoId);
    fails(&file.replace("offset:24", "offset:x"), 10, FormatFault::Field);
    fails(&file.replace("pid_t pid", "pid"), 10, FormatFault::Field);
    // A field that is not there has no value, and does no harm.
    let moved = EventFormat::parse("sched", &file.replace("offset:24", "offset:9999999")).unwrap();
    let values: Vec<_> = moved.values(&[0; 36], ByteOrder::Little).map(|(name, _)| name).collect();
    assert_eq!(values, ["comm", "prio", "target_cpu"]);
}

proptest! {
    #[test]
    fn random_text_is_no_panic(text in "(name: [a-z]*\n|ID: [0-9]{0,6}\n|\tfield:[a-z_ *\\[\\]]{0,20};\toffset:[0-9]{0,20};\tsize:[0-9]{0,3};\tsigned:[01];\n|[ -~\n]{0,20}){0,12}",
        payload in prop::collection::vec(any::<u8>(), 0..64))
    {
        match EventFormat::parse("s", &text) {
            Ok(format) => {
                for (_, value) in format.values(&payload, ByteOrder::Big) {
                    if let Value::Bytes(bytes) = value {
                        prop_assert!(bytes.len() <= payload.len());
                    }
                }
            }
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }
}
