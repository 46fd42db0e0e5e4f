//! Arguments of each type.

use trace_format::{Argument, EventKind, Thread, ThreadKoids, Value};

use super::{converted, head};
use crate::testing::event;

/// Returns the JSON of one argument's value.
fn value(value: Value<'_>) -> String {
    let json = converted(event(EventKind::DurationEnd, &[Argument::new("k", value)]));
    let value = json.strip_prefix(&(head("E") + ",\"args\":{\"k\":")).unwrap();
    value.strip_suffix("}}").unwrap().to_owned()
}

#[test]
fn each_type() {
    assert_eq!(value(Value::Null), "null");
    assert_eq!(value(Value::Bool(true)), "true");
    assert_eq!(value(Value::Bool(false)), "false");
    assert_eq!(value(Value::Int32(i32::MIN)), "-2147483648");
    assert_eq!(value(Value::Uint32(u32::MAX)), "4294967295");
    assert_eq!(value(Value::Int64(-9_007_199_254_740_991)), "-9007199254740991");
    assert_eq!(value(Value::Int64(-9_007_199_254_740_992)), r#""-9007199254740992""#);
    assert_eq!(value(Value::Uint64(u64::MAX)), r#""18446744073709551615""#);
    assert_eq!(value(Value::Double(1.5e300)), "1.5e+300");
    assert_eq!(value(Value::Double(-0.0)), "-0.0");
    assert_eq!(value(Value::Double(f64::NAN)), r#""NaN""#);
    assert_eq!(value(Value::Double(f64::NEG_INFINITY)), r#""-Infinity""#);
    assert_eq!(value(Value::String("".into())), r#""""#);
    assert_eq!(value(Value::String("gr\u{fc}n".into())), "\"gr\u{fc}n\"");
    assert_eq!(value(Value::Pointer(0xdead_beef)), r#""0xdeadbeef""#);
    assert_eq!(value(Value::Koid(u64::MAX)), r##""#18446744073709551615""##);
    assert_eq!(value(Value::Blob(&[0, 255])), r#""AP8=""#);
}

#[test]
fn strings_are_escaped() {
    let text = "\"quote\" \\ / \n\t\r\0\u{1f}\u{7f}";
    let escaped = r#""\"quote\" \\ / \n\t\r\u0000\u001f"#.to_owned() + "\u{7f}\"";
    assert_eq!(value(Value::String(text.into())), escaped);
}

#[test]
fn repeated_keys_are_numbered() {
    let list = [Argument::new("k", Value::Int32(1)), Argument::new("k", Value::Int32(2))];
    let json = converted(event(EventKind::DurationEnd, &list));
    assert_eq!(json, head("E") + r##","args":{"k":1,"k#2":2}}"##);
}

#[test]
fn artificial_koids_are_strings_except_those_of_tracks() {
    let koids = [(1 << 63 | 5, r#""0x8000000000000005""#), (1 << 63 | 1 << 30 | 5, "1073741829")];
    for (koid, tid) in koids {
        let mut record = event(EventKind::DurationEnd, &[]);
        if let trace_format::Record::Event(event) = &mut record {
            event.thread = Thread::Inline(ThreadKoids::new(u64::from(u32::MAX), koid));
        }
        let json = converted(record);
        let start = format!(r#"{{"ph":"E","pid":4294967295,"tid":{tid},"cat":"#);
        assert!(json.starts_with(&start), "{json}");
    }
}
