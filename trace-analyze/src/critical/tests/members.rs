//! The members of a critical path, and the choice by their arguments.

use super::*;
use crate::arguments::Condition;

/// Returns the members of the path of a choice: depth, name, id and arguments.
fn members_of(records: &[Record<'_>], choice: &Choice<'_>) -> Vec<String> {
    let archive = crate::testing::archive(records);
    let open = || Ok::<_, ReadError>(Reader::new(&*archive));
    let chosen = slowest(Reader::new(&*archive), choice).unwrap().slowest.unwrap();
    let mut path = path(&chosen, open).unwrap();
    path.read_arguments(&chosen, open().unwrap()).unwrap();
    let line = |Member { depth, name, id, arguments, .. }: &Member| {
        let arguments = serde_json::Value::from(crate::arguments::to_object(arguments));
        format!("{depth} {name} {id} {arguments}")
    };
    path.members.iter().map(line).collect()
}

/// Calls a function with two requests. A query before them has the id of the first one's query.
fn with_requests<T>(look: impl Fn(&[Record<'_>]) -> T) -> T {
    let text = |key, value: &'static str| Argument::new(key, Value::String(value.into()));
    let (shop, cart, old) =
        ([text("path", "/shop")], [text("path", "/cart")], [text("sql", "old")]);
    let query = [text("sql", "select"), Argument::new("parent", Value::Uint64(1))];
    let failed = [Argument::new("status", Value::Uint32(500))];
    look(&[
        event(5, 10, "query", AsyncBegin { id: 2 }, &old),
        event(5, 20, "query", AsyncEnd { id: 2 }, &[]),
        event(5, 100, "request", AsyncBegin { id: 1 }, &shop),
        event(5, 110, "query", AsyncBegin { id: 2 }, &query),
        event(5, 180, "query", AsyncEnd { id: 2 }, &[]),
        event(5, 200, "request", AsyncEnd { id: 1 }, &[]),
        event(5, 300, "request", AsyncBegin { id: 3 }, &cart),
        event(5, 350, "request", AsyncEnd { id: 3 }, &failed),
    ])
}

#[test]
fn members_have_the_arguments_of_their_begin_and_end() {
    let expected = [r#"0 request 1 {"path":"/shop"}"#, r#"1 query 2 {"parent":1,"sql":"select"}"#];
    assert_eq!(with_requests(|records| members_of(records, &Choice::default())), expected);
    let by_id = Choice { id: Some(3), ..Choice::default() };
    let members = with_requests(|records| members_of(records, &by_id));
    assert_eq!(members, [r#"0 request 3 {"path":"/cart","status":500}"#]);
}

/// The query takes all time of the handler.
#[test]
fn operations_without_a_segment_are_members() {
    let id = |key, value| Argument::new(key, Value::Uint64(value));
    let (handler, query) = ([id("parent", 1), id("item", 133)], [id("parent", 2), id("row", 7)]);
    let records = [
        event(5, 100, "request", AsyncBegin { id: 1 }, &[]),
        event(5, 110, "handler", AsyncBegin { id: 2 }, &handler),
        event(5, 110, "query", AsyncBegin { id: 3 }, &query),
        event(5, 180, "query", AsyncEnd { id: 3 }, &[]),
        event(5, 180, "handler", AsyncEnd { id: 2 }, &[]),
        event(5, 200, "request", AsyncEnd { id: 1 }, &[]),
    ];
    let expected = [
        "0 request 1 {}",
        r#"1 handler 2 {"item":133,"parent":1}"#,
        r#"2 query 3 {"parent":2,"row":7}"#,
    ];
    assert_eq!(members_of(&records, &Choice::default()), expected);
    let (_, segments) = followed(&records, &Choice::default());
    assert!(segments.iter().all(|segment| !segment.contains("handler")), "{segments:?}");
}

#[test]
fn members_have_no_arguments_of_other_operations_with_their_id() {
    let text = |key, value: &'static str| [Argument::new(key, Value::String(value.into()))];
    let (path, secret, status) = (text("path", "/cart"), text("secret", "1"), text("status", "2"));
    for (is_flow, begin, end) in [
        (false, AsyncBegin { id: 1 }, AsyncEnd { id: 1 }),
        (true, FlowBegin { id: 1 }, FlowEnd { id: 1 }),
    ] {
        let records = [
            event(5, 100, "request", begin, &path),
            event(5, 110, "other", begin, &secret),
            event(5, 180, "other", end, &secret),
            // An end without a name belongs to the begin.
            event(5, 200, if is_flow { "" } else { "request" }, end, &status),
        ];
        let choice = Choice { flows: is_flow, ..Choice::default() };
        let expected = [r#"0 request 1 {"path":"/cart","status":"2"}"#];
        assert_eq!(members_of(&records, &choice), expected);
    }
}

/// The time must not grow with the square of the number.
#[test]
fn arguments_of_a_member_have_a_limit() {
    let number = |value| [Argument::new("number", Value::Uint64(value))];
    let chosen = Chosen {
        is_flow: false,
        category: "cat".to_owned(),
        name: "request".to_owned(),
        id: 1,
        process: 1,
        begin: 0,
        end: u64::MAX,
    };
    for (count, expected) in [(100, (100, false)), (101, (100, true)), (40_000, (100, true))] {
        let arguments: Vec<_> = (0..count).map(number).collect();
        let begin = |arguments| event(5, 1, "request", AsyncBegin { id: 1 }, arguments);
        let records: Vec<_> = arguments.iter().chain(&arguments[..1]).map(begin).collect();
        let archive = crate::testing::archive(&records);
        let mut path = Path::new(&chosen, Vec::new(), Vec::new());
        path.read_arguments(&chosen, Reader::new(&*archive)).unwrap();
        let member = path.members.remove(0);
        assert_eq!((member.arguments.len(), member.has_more_arguments), expected);
    }
}

#[test]
fn conditions_choose_by_arguments() {
    let chosen = |conditions: &[(&str, &str)]| {
        let conditions: Vec<Condition> =
            conditions.iter().map(|(key, value)| Condition::new(key, value)).collect();
        let archive = with_requests(crate::testing::archive);
        let choice = Choice { arguments: &conditions, ..Choice::default() };
        slowest(Reader::new(&*archive), &choice).unwrap().slowest.map(|chosen| chosen.id)
    };
    assert_eq!(chosen(&[("path", "/cart")]), Some(3));
    assert_eq!(chosen(&[("status", "500")]), Some(3), "an argument of the end");
    assert_eq!(chosen(&[("path", "/cart"), ("status", "0x1f4")]), Some(3), "of both");
    assert_eq!(chosen(&[("parent", "1")]), Some(2));
    assert_eq!(chosen(&[("path", "/shop"), ("status", "500")]), None);
    assert_eq!(chosen(&[("path", "/")]), None);
}
