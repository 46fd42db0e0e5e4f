use super::*;

#[test]
fn escapes() {
    let text = |written| Text::new(written, true).to_str().into_owned();
    assert_eq!(text(r#"\"\\\/\b\f\n\r\t"#), "\"\\/\u{8}\u{c}\n\r\t");
    assert_eq!(text(r"\u0041\u00e9\u20ac!"), "A\u{e9}\u{20ac}!");
    assert_eq!(text(r"\ud83d\ude00"), "\u{1f600}");
    assert_eq!(text(r"\ud83dx\ude00"), "\u{fffd}x\u{fffd}");
    assert!(!Text::new(r"\ud83d\u0041", true).unescape(&mut String::new()));
}

#[test]
fn microseconds() {
    let nanos = |number| Number(number).to_nanos();
    assert_eq!(nanos("829"), Some((829_000, true)));
    assert_eq!(nanos("1234523.3"), Some((1_234_523_300, true)));
    assert_eq!(nanos("0.0010"), Some((1, true)));
    assert_eq!(nanos("0.0019"), Some((1, false)));
    assert_eq!(nanos("18446744073709551.615"), Some((u64::MAX, true)));
    assert_eq!(nanos("18446744073709551.616"), None);
    assert_eq!(nanos("-1"), None);
    assert_eq!(nanos("1.5e3"), Some((1_500_000, true)));
    assert_eq!(nanos("1700000000123456.789e0"), Some((1_700_000_000_123_456_789, true)));
    assert_eq!(nanos("17000000001234567.89E-1"), Some((1_700_000_000_123_456_789, true)));
    assert_eq!(nanos("1.9e-3"), Some((1, false)));
    assert_eq!(nanos("9e-4"), Some((0, false)));
    assert_eq!(nanos("0e9"), Some((0, true)));
    assert_eq!(nanos("-0"), Some((0, false)));
    assert_eq!(nanos("1.8446744073709551615e16"), Some((u64::MAX, true)));
    assert_eq!(nanos("1.8446744073709551616e16"), None);
    assert_eq!(nanos("-1e-9"), None);
    assert_eq!(nanos("1e300"), None);
    assert_eq!(nanos("1e-99999999999999999999"), Some((0, false)));
}

#[test]
fn negative_microseconds() {
    let nanos = |number| Number(number).to_signed_nanos();
    assert_eq!(nanos("-1.5"), Some((-1500, true)));
    assert_eq!(nanos("-0.0015"), Some((-2, false)));
    assert_eq!(nanos("-1e-3"), Some((-1, true)));
    assert_eq!(nanos("-0"), Some((0, false)));
    assert_eq!(nanos("2"), Some((2000, true)));
    assert_eq!(nanos("-1e300"), None);
}

#[test]
fn integers_in_any_notation() {
    for one in ["1", "1.0", "1e0", "10e-1", "0.01E+2"] {
        assert_eq!(Number(one).to_whole(), Some(1), "{one}");
    }
    for other in ["-1", "1.5", "-0", "1e20", "1e-1"] {
        assert_eq!(Number(other).to_whole(), None, "{other}");
    }
}

#[test]
fn numbers_that_fxt_can_express() {
    let exact = |number| Number(number).to_fxt();
    assert_eq!(exact("0"), Some(Fxt::Int32(0)));
    assert_eq!(exact("-9223372036854775808"), Some(Fxt::Int64(i64::MIN)));
    assert_eq!(exact("18446744073709551615"), Some(Fxt::Uint64(u64::MAX)));
    assert_eq!(exact("18446744073709552000"), Some(Fxt::Double(2f64.powi(64))));
    assert_eq!(exact("18446744073709551616"), None, "a double is not written so");
    assert_eq!(exact("0.1"), Some(Fxt::Double(0.1)));
    assert_eq!(exact("0.30000000000000004"), Some(Fxt::Double(0.1 + 0.2)));
    assert_eq!(exact("0.300000000000000040"), Some(Fxt::Double(0.1 + 0.2)));
    assert_eq!(exact("0.1000000000000000055511151231257827"), None);
    assert_eq!(exact("1e300"), Some(Fxt::Double(1e300)));
    assert_eq!(exact("1e400"), None);
    assert_eq!(exact("1e-400"), None);
    assert_eq!(exact("4.9e-324"), None);
    assert_eq!(exact("5e-324"), Some(Fxt::Double(5e-324)));
    let zero = exact("-0").map(|exact| format!("{exact:?}"));
    assert_eq!(zero.as_deref(), Some("Double(-0.0)"));
}

#[test]
fn numbers_are_equal_in_any_notation() {
    for same in ["1500", "1.5e3", "15E2", "1500.0", "0.0015e6", "150000e-2"] {
        assert_eq!(decimal(same), decimal("1500"), "{same}");
    }
    assert_ne!(decimal("-1"), decimal("1"));
    assert_eq!(decimal("0e99"), decimal("0.00"));
    assert_ne!(decimal("1e99999999999999999999"), decimal("1e-99999999999999999999"));
}
