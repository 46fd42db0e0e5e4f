use trace_format::layout::MAX_BLOB_BYTES;

use super::record::{decode, Payload};
use super::*;

fn module() -> CodeModule {
    CodeModule { name: "/no/such/file".to_owned(), build_id: [0xab, 1].into() }
}

fn frame(function: &str, file: Option<&str>, line: Option<u32>) -> Frame {
    Frame { function: function.into(), file: file.map(Into::into), line, column: None }
}

fn symbols(payloads: &[Vec<u8>]) -> Symbols {
    let mut symbols = Symbols::of_archive();
    payloads.iter().for_each(|payload| symbols.add(payload));
    symbols
}

#[test]
fn names_in_records_are_read_as_they_are_written() {
    let inner = [
        frame("spin", Some("src/a.rs"), Some(7)),
        frame("a::\"b\"\n", None, None),
        frame("spin", None, Some(u32::MAX)),
    ];
    let mut payload = Payload::new(&module());
    payload.add(0x10, &inner);
    payload.add(u64::MAX, &[frame("main", Some("src/a.rs"), None)]);
    let bytes = payload.take();
    assert!(payload.is_empty());
    let text = std::str::from_utf8(&bytes).unwrap();
    let expected = concat!(
        r#"{"module":"/no/such/file","build id":"ab01","#,
        r#""strings":["spin","src/a.rs","a::\"b\"\n","main"],"addresses":{"#,
        r#""0x10":[[0,1,7],[2,null],[0,null,4294967295]],"0xffffffffffffffff":[[3,1]]}}"#,
    );
    assert_eq!(text, expected);
    let mut symbols = symbols(&[bytes]);
    assert_eq!(*symbols.frames(&module(), 0x10), inner);
    assert_eq!(symbols.frames(&module(), u64::MAX).len(), 1);
    assert!(symbols.frames(&module(), 0x11).is_empty());
    let other = CodeModule { build_id: [0xab].into(), ..module() };
    assert!(symbols.frames(&other, 0x10).is_empty());
    assert_eq!(symbols.omitted(), 0);
}

#[test]
fn long_names_are_cut_and_payloads_fit_a_record() {
    let long = "\u{1}ä".repeat(2_000);
    for number in [1, 30, 256] {
        let frames = vec![frame(&long, Some(&long), Some(u32::MAX)); number];
        let mut payload = Payload::new(&CodeModule {
            name: "\u{fffd}".repeat(255),
            build_id: [0xff; 255].into(),
        });
        while !payload.is_full() {
            payload.add(u64::MAX, &frames);
        }
        let bytes = payload.take();
        assert!(bytes.len() < MAX_BLOB_BYTES, "{}", bytes.len());
        assert!(decode(&bytes).is_some());
    }
    let mut payload = Payload::new(&module());
    payload.add(1, &[frame(&"a".repeat(5000), None, None)]);
    let mut symbols = symbols(&[payload.take()]);
    assert_eq!(symbols.frames(&module(), 1)[0].function.len(), 4094);
}

#[test]
fn malformed_records_are_counted() {
    let good = r#"{"module":"m","build id":"","strings":["a"],"addresses":{"0x1":[[0]]}}"#;
    assert_eq!(symbols(&[good.into()]).omitted(), 0);
    for (part, wrong) in [
        (good, ""),
        (good, "[]"),
        (r#""m""#, "1"),
        (r#""build id":"""#, r#""build id":"0""#),
        (r#"["a"]"#, "[0]"),
        ("0x1", "1"),
        ("0x1", "0x10000000000000000"),
        ("[[0]]", "[[1]]"),
        ("[[0]]", "[[]]"),
        ("[[0]]", "[[0,0,-1]]"),
        ("[[0]]", "[[0,0,4294967296]]"),
        ("[[0]]", "0"),
    ] {
        assert_eq!(symbols(&[good.replace(part, wrong).into()]).omitted(), 1, "{wrong}");
    }
}

#[test]
fn names_in_an_archive_take_limited_memory() {
    // Many addresses, many frames, and long names.
    let addresses = |number: u64, frames: usize, name: &dyn Fn(u64) -> String| {
        let mut payloads = Vec::new();
        for address in 0..number {
            let mut payload = Payload::new(&module());
            payload.add(address, &vec![frame(&name(address), None, None); frames]);
            payloads.push(payload.take());
        }
        symbols(&payloads).omitted()
    };
    let short = |_| "a".to_owned();
    assert_eq!([addresses(512, 1, &short), addresses(600, 1, &short)], [0, 88]);
    assert_eq!(addresses(10, 255, &short), 6);
    let long = |address| format!("{address}{}", "a".repeat(4000));
    assert_eq!([addresses(16, 1, &long), addresses(20, 1, &long)], [0, 4]);
}
