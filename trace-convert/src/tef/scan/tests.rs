use super::*;

fn value(text: &str) -> Result<(Found, usize), Stop> {
    let mut scanner = Scanner::new(text.as_bytes(), 0);
    scanner.value().map(|found| (found, scanner.at))
}

fn wrong(text: &str) -> (usize, Problem) {
    match value(text) {
        Err(Stop::Malformed { at, problem }) => (at, problem),
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn values_of_each_kind() {
    assert_eq!(value(" null"), Ok((Found::Null, 5)));
    assert_eq!(value("true,"), Ok((Found::Bool(true), 4)));
    assert_eq!(value("-0.5e+3 "), Ok((Found::Number(Span::new(0, 7)), 7)));
    assert_eq!(value("\"a\\n\""), Ok((Found::String(Span::new(1, 4), true), 5)));
    let nested = r#"{"a":[{},[],{"b":"]"}]}"#;
    assert_eq!(value(nested), Ok((Found::Nested(Span::new(0, 23)), 23)));
}

#[test]
fn incomplete_texts() {
    let whole = r#"{"a":[1.5e3,"x\u00e9\n",true,null],"b":{}}"#;
    for end in 0..whole.len() {
        assert_eq!(value(&whole[..end]), Err(Stop::More), "{}", &whole[..end]);
    }
    assert_eq!(value("12"), Err(Stop::More), "more digits may follow");
}

#[test]
fn complete_texts() {
    for text in ["1", "-1.5e3 ", " {\"a\":[1]}", "\"\""] {
        assert!(is_value(text), "{text}");
    }
    for text in ["", "1 2", "{}}", "[1", "nul", "1."] {
        assert!(!is_value(text), "{text}");
    }
}

#[test]
fn defects_are_reported_with_their_offset() {
    assert_eq!(wrong("nil"), (0, Problem::Value));
    assert_eq!(wrong("NaN"), (0, Problem::Value));
    assert_eq!(wrong("01 "), (1, Problem::Number));
    assert_eq!(wrong("1. "), (2, Problem::Number));
    assert_eq!(wrong("-x"), (1, Problem::Number));
    assert_eq!(wrong("\"a\nb\""), (2, Problem::ControlCharacter));
    assert_eq!(wrong(r#""a\x""#), (2, Problem::Escape));
    assert_eq!(wrong(r#""\u12g4""#), (1, Problem::Escape));
    assert_eq!(wrong("[1 2]"), (3, Problem::CommaOrBracket));
    assert_eq!(wrong(r#"{"a" 1}"#), (5, Problem::Colon));
    assert_eq!(wrong(r#"{"a":1]"#), (6, Problem::CommaOrBrace));
    assert_eq!(wrong("{1:2}"), (1, Problem::Key));
    assert_eq!(wrong("[1,]"), (3, Problem::Value));
}

#[test]
fn nesting_has_a_limit() {
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    assert!(value(&nested(MAX_DEPTH)).is_ok());
    assert_eq!(wrong(&nested(MAX_DEPTH + 1)), (MAX_DEPTH, Problem::TooDeep));
    assert_eq!(wrong(&"[{\"a\":".repeat(100_000)).1, Problem::TooDeep);
}

#[test]
fn special_bytes_are_found_at_each_place() {
    for special in [b'"', b'\\', 0, b'\n', 0x1f] {
        for place in 0..20 {
            let mut text = *b"abcdefgh\x7f\x80\xff !#[]xyz~";
            text[place] = special;
            assert_eq!(plain_bytes(&text), place, "{special:#x}");
        }
    }
    assert_eq!(plain_bytes(b"abcdefgh\x7f\x80\xff !#[]"), 16);
}
