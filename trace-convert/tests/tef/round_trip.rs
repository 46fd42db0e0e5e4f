//! Round trips of documents with any content.

use std::ops::Range;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use crate::json::{events, parse};
use crate::{archive, document};

const PHASES: &[&str] = &[
    "B", "E", "X", "i", "I", "C", "b", "n", "e", "S", "T", "p", "F", "s", "t", "f", "P", "N", "O",
    "D", "M", "V", "v", "R", "c", "(", ")", "=", "X", "X", "B", "E", "?", "", "XX",
];

const MEMBERS: &[&str] = &[
    "tts",
    "tdur",
    "bp",
    "id2",
    "scope",
    "cname",
    "sf",
    "esf",
    "stack",
    "estack",
    "tidelta",
    "ticount",
    "use_async_tts",
    "bind_id",
    "flow_in",
    "args2",
    "json:x",
    "arg:x",
    "added",
    "absent",
    "event",
    "args",
    "name",
    "\\u006eame",
    "ts",
    "dur",
    "id",
    "s",
    "\\u0061rgs",
    "more",
];

const ARGUMENTS: &[&str] = &[
    "name",
    "snapshot",
    "sort_index",
    "process",
    "tef:x",
    "tef:arg:x",
    "tef:added",
    "linked_id",
    "",
    "a",
    "b",
    "c",
    "\\n",
    "caf\u{e9}",
    "\\ud83d\\ude00",
];

fn text() -> impl Strategy<Value = String> {
    const KNOWN: &[&str] =
        &["process_name", "thread_name", "0x1f", "0x0", "0X1", "0x01", "12", "", "t", "e"];
    const ESCAPED: &[&str] =
        &["\\u0000", "\\ud800", "\\ud83d\\ude00", "\\\"\\\\", "tef:added", "caf\u{e9}"];
    prop_oneof![
        6 => select(KNOWN).prop_map(str::to_owned),
        3 => "[a-z .#:/]{0,12}",
        2 => select(ESCAPED).prop_map(str::to_owned),
        1 => (31_995usize..32_010).prop_map(|length| "x".repeat(length)),
    ]
}

fn string() -> impl Strategy<Value = String> {
    text().prop_map(|text| format!("\"{text}\""))
}

fn number() -> impl Strategy<Value = String> {
    const ODD: &[&str] = &[
        "-0",
        "0.0",
        "1e3",
        "-1.5E-3",
        "1e400",
        "5e-324",
        "123456789012345678901234567890",
        "9007199254740993",
        "0.30000000000000004",
        "0.1000000000000000055511151231257827",
        "18446744073709551615",
        "18446744073709551.615",
        "18446744073709551.616",
        "9223372036854775808",
        "-9223372036854775809",
        "4294967296",
        "1.0",
        "1.50",
    ];
    prop_oneof![
        4 => any::<u32>().prop_map(|number| number.to_string()),
        2 => any::<i64>().prop_map(|number| number.to_string()),
        2 => (any::<u32>(), any::<u16>()).prop_map(|(whole, part)| format!("{whole}.{part}")),
        1 => any::<f64>().prop_filter("JSON has it", |number| number.is_finite())
            .prop_map(|number| format!("{number:e}")),
        2 => select(ODD).prop_map(str::to_owned),
    ]
}

fn value() -> impl Strategy<Value = String> {
    let simple = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        Just("false".to_owned()),
        number(),
        string(),
    ];
    simple.prop_recursive(3, 20, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(|values| format!("[{}]", values.join(" , "))),
            object(select(ARGUMENTS).prop_map(str::to_owned), inner, 0..4),
        ]
    })
}

fn object(
    keys: impl Strategy<Value = String>,
    values: impl Strategy<Value = String>,
    count: Range<usize>,
) -> impl Strategy<Value = String> {
    let member = (keys, values).prop_map(|(key, value)| format!("\"{key}\": {value}"));
    vec(member, count).prop_map(|members| format!("{{{}}}", members.join(",")))
}

/// A member that usually exists and has the specified type.
fn member(
    key: &'static str,
    usual: impl Strategy<Value = String>,
) -> impl Strategy<Value = Option<String>> {
    let member = move |value| Some(format!("\"{key}\":{value}"));
    prop_oneof![12 => usual.prop_map(member), 1 => value().prop_map(member), 1 => Just(None)]
}

fn args() -> impl Strategy<Value = String> {
    prop_oneof![
        10 => object(select(ARGUMENTS).prop_map(str::to_owned), value(), 0..5),
        1 => object("k[0-9]{2}", number(), 10..25),
        1 => value(),
    ]
}

fn event() -> impl Strategy<Value = String> {
    let phase = select(PHASES).prop_map(|phase| format!("\"{phase}\""));
    let others = vec((select(MEMBERS), value()), 0..4).prop_map(|others| {
        let member = |(key, value)| Some(format!("\"{key}\":{value}"));
        others.into_iter().map(member).collect::<Vec<_>>()
    });
    let small = (0u32..300).prop_map(|number| number.to_string());
    let own = vec![
        member("ph", phase).boxed(),
        member("name", string()).boxed(),
        member("cat", string()).boxed(),
        member("ts", number()).boxed(),
        perhaps(member("dur", number())),
        member("pid", small.clone()).boxed(),
        member("tid", small).boxed(),
        perhaps(member("id", value())),
        perhaps(member("s", string())),
        member("args", args()).boxed(),
    ];
    let members = (own, others)
        .prop_map(|(own, others)| own.into_iter().chain(others).flatten().collect::<Vec<_>>());
    members.prop_shuffle().prop_map(|members| format!("{{{}}}", members.join(",")))
}

fn perhaps(
    member: impl Strategy<Value = Option<String>> + 'static,
) -> BoxedStrategy<Option<String>> {
    prop_oneof![member, Just(None)].boxed()
}

fn any_document() -> impl Strategy<Value = String> {
    const KEYS: &[&str] =
        &["displayTimeUnit", "stackFrames", "otherData", "samples", "systemTraceEvents"];
    let members = || {
        let member = (select(KEYS), value()).prop_map(|(key, value)| format!("\"{key}\":{value},"));
        vec(member, 0..3).prop_map(|members| members.concat())
    };
    let events = vec(event(), 0..8).prop_map(|events| format!("[{}]", events.join(",\n")));
    (any::<bool>(), members(), events, members()).prop_map(|(is_array, before, events, after)| {
        match is_array {
            true => events,
            false => {
                let after = after.trim_end_matches(',');
                let comma = if after.is_empty() { "" } else { "," };
                format!("{{{before}\"traceEvents\":{events}{comma}{after}}}")
            }
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn documents_survive_the_round_trip(json in any_document()) {
        let (archive, summary) = archive(json.as_bytes());
        let (before, after) = (parse(&json), parse(&document(&archive)));
        prop_assert_eq!(summary.events, events(&before).len() as u64);
        for (before, after) in events(&before).iter().zip(events(&after)) {
            prop_assert_eq!(before, after);
        }
        prop_assert_eq!(before, after);
    }
}
