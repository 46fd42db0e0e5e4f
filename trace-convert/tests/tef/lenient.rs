//! Lenient reading of malformed documents.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{select, Index};
use trace_convert::tef::{Item, Limits, Reader, Skipped};

/// Pieces of JSON, complete and incomplete.
const TOKENS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\\",
    "\\\"",
    "\n",
    " ",
    "1",
    "x",
    "NaN",
    "{}",
    "[1,2]",
    "\"a\"",
    "\"a\":",
    "\"args\":{",
    "\"args\":[{\"b\":",
    "],\"c\":",
    "\u{e9}",
    "\u{1}",
];

/// Returns the events, members and skipped parts of a document, or the error.
fn read(json: &str, lenient: bool) -> Result<(Vec<String>, Vec<String>, Skipped), String> {
    let mut reader = Reader::with_limits(json.as_bytes(), Limits { lenient, ..Limits::default() });
    let (mut events, mut members) = (Vec::new(), Vec::new());
    while let Some(item) = reader.next().map_err(|error| error.to_string())? {
        match item {
            Item::Event(event) => events.push(event.text().to_owned()),
            Item::Member(member) => members.push(member.written.to_owned()),
        }
    }
    Ok((events, members, reader.into_skipped()))
}

fn event() -> impl Strategy<Value = String> {
    const ARGS: &[&str] = &[
        "{}",
        "{\"a\":[{\"b\":1},{\"c\":\"}]\"}]}",
        "{\"text\":\"},{\\\"ph\\\":1\"}",
        "[[],{\"x\":{}}]",
    ];
    (0u32..1000, select(ARGS), select(&["", " ", "\n"][..])).prop_map(|(ts, args, space)| {
        format!("{{{space}\"ts\":{ts},{space}\"ph\": \"i\",\"args\":{args}{space}}}")
    })
}

/// Returns a text with one place changed.
fn damaged(text: &str, place: Index, length: usize, tokens: &[&str]) -> String {
    let start = place.index(text.len() + 1);
    let end = (start + length).min(text.len());
    format!("{}{}{}", &text[..start], tokens.concat(), &text[end..])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// One event, or one member before or after the events, is malformed. The others are returned
    /// in order. They may also be within the malformed part if that extends over them.
    #[test]
    fn intact_parts_are_returned(
        events in vec(event(), 1..8),
        comma in select(&[",", ",\n", " , "][..]),
        is_array in any::<bool>(),
        (what, place, length) in (any::<Index>(), any::<Index>(), 0usize..6),
        tokens in vec(select(TOKENS), 0..4),
    ) {
        let mut parts = vec!["\"x\":{\"y\":[1,\"}\"]}".to_owned(), "\"z\":1".to_owned()];
        parts.splice(1..1, events.iter().cloned());
        let last = parts.len() - 1;
        let what = match is_array {
            true => 1 + what.index(events.len()),
            false => what.index(parts.len()),
        };
        parts[what] = damaged(&parts[what], place, length, &tokens);
        // A string that is left open may be that of a member, and end in the next event. Behind it,
        // the brackets in strings are those of the text.
        let is_open = parts[what].matches('"').count() % 2 == 1;
        let has_brackets = |event: &str| event.contains("\"}]\"") || event.contains("\"},{");
let is_ambiguous =
            |index: usize, event: &str| is_open && (index == what || has_brackets(event));
        let array = parts[1..last].join(comma);
        let json = match is_array {
            true => format!("[{array}]"),
            false => format!("{{{},\"traceEvents\":[{array}],{}}}", parts[0], parts[last]),
        };
        let (given, members, skipped) = read(&json, true).unwrap();

        let mut rest = given.iter().chain(&members);
        for (index, event) in events.iter().enumerate() {
            if index + 1 == what || is_ambiguous(index, event) {
                continue;
            }
            let mut all = given.iter().chain(&members);
            prop_assert!(all.any(|given| given.contains(event)), "event {} of {}", index, json);
            if given.contains(event) {
                prop_assert!(rest.any(|given| given.contains(event)), "order of {}", json);
            }
        }
        // A strict reader fails if a lenient one skips.
        match read(&json, false) {
            Ok((strict, strict_members, _)) => {
                prop_assert_eq!((strict, strict_members), (given, members));
                prop_assert_eq!((skipped.parts, skipped.bytes), (0, 0));
            }
            Err(error) => {
                prop_assert_eq!(Some(error), skipped.first.map(|first| first.to_string()));
                let kept = given.iter().chain(&members).map(String::len).sum::<usize>();
                prop_assert!(kept + skipped.bytes as usize <= json.len());
            }
        }
    }
}
