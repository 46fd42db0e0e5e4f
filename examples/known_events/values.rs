//! Arguments of every type, with the values at their edges.

use std::borrow::Cow;

use trace_runtime::{trace_instant, ArgValue, InstantScope, Koid, Pointer};

use crate::notes::Notes;
use crate::value::{Known, Value};
use crate::{known, pause};

/// A type of the program's own.
#[derive(Clone, Copy)]
struct Own(u64);

impl ArgValue for Own {
    type Arg<'a> = Koid;

    fn arg(&self) -> Koid {
        Koid(self.0)
    }
}

impl Known for Own {
    fn known(&self) -> Value {
        Koid(self.0).known()
    }
}

pub(crate) fn values(notes: &mut Notes) {
    known!(notes, trace_instant, "values", "no arguments", []);
    known!(
        notes, trace_instant, "values", "every type", [],
        "null" => (), "bool" => true, "i32" => -1i32, "u32" => 2u32, "i64" => -3i64, "u64" => 4u64, "usize" => 5usize,
        "isize" => -6isize, "f32" => 0.1f32, "f64" => 0.1f64, "str" => "text", "String" => String::from("owned"),
        "pointer" => Pointer(0xdead_beef), "koid" => Koid(7), "own" => Own(8),
    );
    known!(
        notes, trace_instant, "values", "small types", [InstantScope::Process],
        "i8" => i8::MIN, "u8" => u8::MAX, "i16" => i16::MIN, "u16" => u16::MAX, "some" => Some(1u64), "none" => None::<u64>,
        "reference" => &&5u32, "Cow" => Cow::Borrowed("cow"), "false" => false, "null pointer" => std::ptr::null::<u8>(),
    );
    known!(
        notes, trace_instant, "values", "integers", [InstantScope::Global],
        "i32 min" => i32::MIN, "i32 max" => i32::MAX, "u32 max" => u32::MAX, "i64 min" => i64::MIN, "i64 max" => i64::MAX,
        "u64 max" => u64::MAX, "usize max" => usize::MAX, "2^53+1" => (1u64 << 53) + 1, "pointer" => Pointer(u64::MAX),
        "koid" => Koid(u64::MAX),
    );
    known!(
        notes, trace_instant, "values", "floats", [],
        "nan" => f64::NAN, "negative nan" => -f64::NAN, "inf" => f64::INFINITY, "-inf" => f64::NEG_INFINITY, "-0" => -0.0f64,
        "min" => f64::MIN, "max" => f64::MAX, "subnormal" => f64::from_bits(1), "f32 nan" => f32::NAN, "f32 max" => f32::MAX,
    );
}

pub(crate) fn strings(notes: &mut Notes) {
    known!(
        notes, trace_instant, "strings", "lengths", [],
        "0" => "", "1" => "1", "2" => "12", "3" => "123", "4" => "1234", "5" => "12345", "6" => "123456", "7" => "1234567",
        "8" => "12345678", "9" => "123456789", "15" => "123456789abcdef", "16" => "123456789abcdef0",
    );
    known!(
        notes, trace_instant, "strings", "characters", [InstantScope::Thread],
        "2 bytes" => "größe", "3 bytes" => "€ 日本語", "4 bytes" => "🦀", "byte order mark" => "\u{feff}x", "quotes" => "\"\\/'<&",
        "lines" => "a\nb\r\nc\u{2028}d", "controls" => "\u{1}\u{8}\t\u{1f}\u{7f}\u{9f}", "not a character" => "\u{ffff}",
    );
    known!(
        notes, trace_instant, "strings", "zeros", [],
        "within" => "a\0b", "at the end" => "a\0", "alone" => "\0", "many" => "\0\0\0\0\0\0\0\0",
    );
    known!(notes, trace_instant, "größe/日本語", "🦀 \"name\" \\ \n\t", [], "schlüssel \u{1}" => 1u64);
    known!(notes, trace_instant, "strings", "", [], "empty name" => true);
    known!(notes, trace_instant, "strings", "empty key", [], "" => true);
    long_strings(notes);
}

/// Strings near the limit of 32,000 bytes, and strings that are cut there.
fn long_strings(notes: &mut Notes) {
    for (length, name) in [(31_999, "31999"), (32_000, "32000")] {
        let long = "x".repeat(length);
        known!(notes, trace_instant, "strings", name, [], "long" => long);
        pause();
    }
    let too_long = format!("x{}", "€".repeat(20_000));
    trace_instant!("strings", "cut at a character", "long" => too_long);
    let cut = &too_long[..1 + 3 * (31_999 / 3)];
    notes.event(
        "trace_instant",
        ["strings", "cut at a character"],
        Some(0),
        &[("long", cut.known())],
    );
    pause();
    let (left, right) = ("l".repeat(20_000), "r".repeat(20_000));
    trace_instant!("strings", "cut to fit a record", "left" => left, "number" => 1u64, "right" => right);
    // If the strings of a record exceed its size together, each is cut to 1,800 bytes.
    let args = [
        ("left", left[..1800].known()),
        ("number", 1u64.known()),
        ("right", right[..1800].known()),
    ];
    notes.event("trace_instant", ["strings", "cut to fit a record"], Some(0), &args);
    pause();
}

pub(crate) fn counters(notes: &mut Notes) {
    known!(
        notes, trace_counter, "counters", "edges", [u64::MAX],
        "i32" => i32::MIN, "u32" => u32::MAX, "i64" => i64::MIN, "u64" => u64::MAX >> 1, "f64" => -1.5f64,
    );
    for value in 0..20i64 {
        known!(notes, trace_counter, "counters", "two series", [0], "value" => value, "negative" => -value);
        known!(notes, trace_counter, "counters", "two series", [1], "value" => 2 * value);
    }
}

pub(crate) fn names_at_run_time(notes: &mut Notes) {
    for number in 0..3u32 {
        let name = format!("name {number}");
        known!(notes, trace_instant, "names", name, [], "number" => number);
        let category = format!("names:{}", "c".repeat(number as usize));
        known!(notes, trace_counter, category, name, [u64::from(number)], "number" => number);
    }
    let (empty, zero, long) = (String::new(), "a\0b", "n".repeat(20_000));
    known!(notes, trace_instant, "names", empty, []);
    known!(notes, trace_instant, empty, empty, []);
    known!(notes, trace_instant, "names", zero, []);
    known!(notes, trace_instant, "names", long, []);
    pause();
}
