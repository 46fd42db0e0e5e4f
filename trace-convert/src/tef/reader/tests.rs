//! Documents: complete, damaged, and in pieces of any size.

use super::*;
use crate::tef::field::Field;

/// Returns one byte for each read.
struct Drops<'a>(&'a [u8]);

impl Read for Drops<'_> {
    fn read(&mut self, room: &mut [u8]) -> std::io::Result<usize> {
        let count = self.0.len().min(room.len()).min(1);
        let (now, later) = self.0.split_at(count);
        room[..count].copy_from_slice(now);
        self.0 = later;
        Ok(count)
    }
}

/// Returns each item as text, and the skipped parts.
fn read(mut reader: Reader<impl Read>) -> Result<(Vec<String>, Skipped), String> {
    let mut items = Vec::new();
    loop {
        match reader.next().map_err(|error| error.to_string())? {
            Some(Item::Event(event)) => items.push(event.text().to_owned()),
            Some(Item::Member(member)) => {
                items.push(format!("{}: {}", member.key.to_str(), member.written));
            }
            None => break,
        }
    }
    assert!(reader.next().unwrap().is_none());
    Ok((items, reader.into_skipped()))
}

fn items(json: &str) -> Vec<String> {
    let (items, _) = read(Reader::new(json.as_bytes())).unwrap();
    assert_eq!(read(Reader::new(Drops(json.as_bytes()))).unwrap().0, items, "in pieces");
    items
}

fn error(json: impl AsRef<[u8]>) -> String {
    let error = read(Reader::new(json.as_ref())).unwrap_err();
    assert_eq!(read(Reader::new(Drops(json.as_ref()))).unwrap_err(), error, "in pieces");
    error
}

fn lenient(json: impl AsRef<[u8]>) -> (Vec<String>, u64, String) {
    let limits = Limits { lenient: true, ..Limits::default() };
    let (items, skipped) = read(Reader::with_limits(json.as_ref(), limits)).unwrap();
    (items, skipped.parts, skipped.first.map(|first| first.to_string()).unwrap_or_default())
}

#[test]
fn arrays() {
    let two = ["{\"ph\":\"B\"}", "{}"];
    assert_eq!(items("[]"), [""; 0]);
    assert_eq!(items(" [ {\"ph\":\"B\"} , {} ] \n"), two);
    assert_eq!(items("\u{feff}[{\"ph\":\"B\"},{}]"), two);
    for open in [
        "[{\"ph\":\"B\"},{}",
        "[{\"ph\":\"B\"},{},",
        "[{\"ph\":\"B\"},{},\n",
        "[{\"ph\":\"B\"},{},]",
    ] {
        assert_eq!(items(open), two);
    }
    assert_eq!(items("["), [""; 0]);
}

#[test]
fn objects() {
    assert_eq!(items("{\"traceEvents\":[]}"), [""; 0]);
    let whole = r#"{"displayTimeUnit": "ns", "traceEvents": [{},{},], "samples": [ 1 ], "x": {"traceEvents": 5},}"#;
    let expected =
        ["displayTimeUnit: \"ns\"", "{}", "{}", "samples: [ 1 ]", "x: {\"traceEvents\": 5}"];
    assert_eq!(items(whole), expected);
}

#[test]
fn forms() {
    assert_eq!(Reader::new(&b" []"[..]).form().unwrap(), Form::Array);
    let mut reader = Reader::new(Drops(b"{\"traceEvents\":[{}]}"));
    assert_eq!(reader.form().unwrap(), Form::Object);
    assert!(matches!(reader.next().unwrap(), Some(Item::Event(_))));
    assert_eq!(reader.form().unwrap(), Form::Object);
    assert!(Reader::new(&b" "[..]).form().is_err());
}

#[test]
fn defects_are_reported_with_line_and_column() {
    let cases = [
        ("", "line 1, column 1: expected `{` or `[`"),
        ("  \n ", "line 2, column 2: expected `{` or `[`"),
        ("abc", "line 1, column 1: expected `{` or `[`"),
        ("\0\0\0", "line 1, column 1: expected `{` or `[`"),
        ("[{},\n {\"a\":tru}]", "line 2, column 7: expected a value"),
        ("[{}\n {}]", "line 2, column 2: expected a comma or `]`"),
        ("[{\"a\":1 \"b\":2}]", "line 1, column 9: expected a comma or `}`"),
        ("[{\"ts\":1.}]", "line 1, column 10: invalid number"),
        ("[5]", "line 1, column 2: event is not an object"),
        ("[{},,{}]", "line 1, column 5: event is not an object"),
        ("[{\"name\":\"", "line 1, column 11: unexpected end of the document"),
        ("[]\n[]", "line 2, column 1: unexpected data after the document"),
        ("{\"a\":1}", "line 1, column 7: expected the array `traceEvents`"),
        ("{\"traceEvents\":{}}", "line 1, column 16: expected the array `traceEvents`"),
        ("{\"traceEvents\":[]", "line 1, column 18: unexpected end of the document"),
        ("{\"traceEvents\":[{}", "line 1, column 19: unexpected end of the document"),
        ("{\"a\" 1}", "line 1, column 6: expected a colon"),
    ];
    for (json, expected) in cases {
        assert_eq!(error(json), expected, "{json}");
    }
    assert_eq!(error(b"[{\"a\":\"\xff\"}]"), "line 1, column 8: invalid UTF-8");
    assert_eq!(error(b"{\"a\":\"\xff\"}"), "line 1, column 7: invalid UTF-8");
}

#[test]
fn lenient_readers_skip_malformed_events() {
    assert_eq!(
        lenient("[{\"a\":1},{\"b\":NaN},{\"c\":3}]"),
        (
            vec!["{\"a\":1}".into(), "{\"c\":3}".into()],
            1,
            "line 1, column 15: expected a value".into()
        )
    );
    let cases: [(&str, &[&str], u64); 8] = [
        ("[{}{\"b\":1} {}]", &["{}", "{\"b\":1}", "{}"], 2),
        ("[{\"a\":\"x},\n{\"ph\":1}]", &["{\"ph\":1}"], 1),
        ("[{},5,nonsense,{\"b\":1},\"s\"]", &["{}", "{\"b\":1}"], 3),
        ("[{\"a\":[{\"x\":bad}]},{}]", &["{}"], 1),
        ("[{},{\"a\":", &["{}"], 1),
        ("{\"traceEvents\":[{},{\"a\":01}],\"b\":2}", &["{}", "b: 2"], 1),
        ("{\"traceEvents\":[{}", &["{}"], 1),
        ("[{}] more", &["{}"], 1),
    ];
    for (json, expected, skipped) in cases {
        let (items, events, _) = lenient(json);
        assert_eq!(items, expected, "{json}");
        assert_eq!(events, skipped, "{json}");
    }
    assert_eq!(lenient(b"[{\"a\":\"\xff\"},{}]").0, ["{}"]);
    let lines = "[{\n\"a\":\"x,\n\"b\":[1],\n\"c\":2\n},\n{\n\"b\":1\n}]";
    assert_eq!((lenient(lines).0, lenient(lines).1), (vec!["{\n\"b\":1\n}".to_owned()], 1));
}

#[test]
fn lenient_readers_skip_malformed_members() {
    let events = "\"traceEvents\":[{\"ph\":\"i\"}]";
    let cases: [(&str, &[&str], u64); 11] = [
        ("{\"x\":{bad},EVENTS,\"y\":1}", &["EVENT", "y: 1"], 1),
        ("{bad,\"x\":1,,EVENTS}", &["x: 1", "EVENT"], 2),
        ("{\"x\":{\"a\":[1,\"b\":2},EVENTS}", &["EVENT"], 1),
        ("{\"x\":\"open,EVENTS}", &["x: \"open,\"", "EVENT"], 1),
        ("{\"x\":{\"a\":1,EVENTS,\"y\":bad}", &["EVENT"], 2),
        ("{\"x\":1 EVENTS}", &["x: 1", "EVENT"], 1),
        ("{EVENTS,\"x\":NaN,\"y\":1}", &["EVENT", "y: 1"], 1),
        ("{EVENTS]]}", &["EVENT"], 1),
        ("{\"traceEvents\":5,EVENTS}", &["EVENT"], 1),
        ("{\"x\":1}", &["x: 1"], 1),
        ("{\"x\":1,}", &["x: 1"], 1),
    ];
    for (json, expected, parts) in cases {
        let expected: Vec<_> =
            expected.iter().map(|item| item.replace("EVENT", "{\"ph\":\"i\"}")).collect();
        let json = json.replace("EVENTS", events);
        let (items, skipped, _) = lenient(&json);
        assert_eq!((items, skipped), (expected, parts), "{json}");
    }
}

#[test]
fn skipped_bytes_are_counted() {
    let cases = [
        ("[{\"ph\":\"i\"},{\"x\":bad},{\"ph\":\"i\"}]", 9),
        ("[{\"ph\":\"i\"},{\"x\":\"open},{\"ph\":\"i\"}]", 12),
        ("[{\"ph\":\"i\"},{\"x\":\"open},{\"y\":\"i\"}]", 22),
        ("{\"x\":bad,\"traceEvents\":[]}", 7),
        ("[{\"ph\":\"i\"}] more", 5),
        ("[{\"ph\":\"i\"} {\"ph\":\"i\"}]", 0),
    ];
    let limits = Limits { lenient: true, ..Limits::default() };
    for (json, bytes) in cases {
        let (_, skipped) = read(Reader::with_limits(json.as_bytes(), limits)).unwrap();
        assert_eq!((skipped.parts, skipped.bytes), (1, bytes), "{json}");
        let pieces = read(Reader::with_limits(Drops(json.as_bytes()), limits)).unwrap().1;
        assert_eq!((pieces.parts, pieces.bytes), (1, bytes), "{json}, in pieces");
    }
}

#[test]
fn lenient_readers_refuse_other_formats() {
    let limits = Limits { lenient: true, ..Limits::default() };
    for json in ["", "abc", "\0\0\0\0", "5"] {
        assert!(read(Reader::with_limits(json.as_bytes(), limits)).is_err(), "{json}");
    }
}

#[test]
fn events_beyond_the_limit_are_refused_or_skipped() {
    let long = format!("[{{\"a\":\"{}\"}},{{}}]", "x".repeat(600 << 10));
    let limits = Limits { value_bytes: 300 << 10, lenient: false };
    let error = read(Reader::with_limits(long.as_bytes(), limits)).unwrap_err();
    assert_eq!(error, "line 1, column 2: event or member is too large");
    let limits = Limits { lenient: true, ..limits };
    let (items, skipped) = read(Reader::with_limits(long.as_bytes(), limits)).unwrap();
    assert_eq!((items, skipped.parts), (vec!["{}".to_owned()], 1));
}

#[test]
fn long_documents_pass_through_a_small_window() {
    let json =
        "[".to_owned() + &"{\"name\":\"a\",\"args\":{\"x\":[1,2,3]}},\n".repeat(30_000) + "]";
    let mut reader = Reader::new(json.as_bytes());
    let mut count = 0;
    while let Some(Item::Event(event)) = reader.next().unwrap() {
        assert_eq!(event.text(), "{\"name\":\"a\",\"args\":{\"x\":[1,2,3]}}");
        count += 1;
    }
    assert_eq!(count, 30_000);
    assert!(reader.source.capacity() <= 512 << 10, "{}", reader.source.capacity());
}

#[test]
fn members_of_an_event() {
    let json = concat!(
        r#"[{"name":"a","cat":"b,c","ph":"X","ts":1.5,"dur":2,"tts":3,"pid":1,"tid":"t","id":"0x1","#,
        r#""s":"g","args":{"k":[1],"l":null},"cname":"good","\u0073f":7}]"#
    );
    let mut reader = Reader::new(json.as_bytes());
    let Some(Item::Event(event)) = reader.next().unwrap() else { panic!() };
    let text = |value: Option<Value<'_>>| match value {
        Some(Value::String(text)) => text.to_str().into_owned(),
        other => format!("{other:?}"),
    };
    assert_eq!(text(event.get(Field::Name)), "a");
    assert_eq!(text(event.get(Field::Category)), "b,c");
    assert_eq!(event.phase(), Some('X'));
    assert_eq!(event.get(Field::Timestamp).and_then(Event::nanos), Some(1500));
    assert_eq!(event.get(Field::Duration).and_then(Event::nanos), Some(2000));
    assert!(
        matches!(event.get(Field::Process), Some(Value::Number(number)) if number.written() == "1")
    );
    assert_eq!(text(event.get(Field::Thread)), "t");
    assert_eq!(text(event.get(Field::Id)), "0x1");
    assert_eq!(text(event.get(Field::Scope)), "g");
    let arguments: Vec<_> = event.arguments().collect();
    assert_eq!(arguments[0].1, Value::Nested("[1]"));
    assert_eq!(arguments[1].1, Value::Null);
    assert_eq!(event.get(Field::Args), Some(Value::Nested(r#"{"k":[1],"l":null}"#)));
    assert_eq!(text(event.other("cname")), "good");
    assert!(matches!(event.other("sf"), Some(Value::Number(_))));
    assert_eq!(event.other("missing"), None);
}
