//! Objects and log messages.

use std::cell::Cell;
use std::fmt;

use trace_runtime::{
    trace_instant, trace_kernel_object, trace_log, trace_userspace_object, ObjectType, Pointer,
};

use crate::archive::{find, lines, this_thread, Recording};

#[test]
fn objects_are_recorded() {
    let recording = Recording::start();
    let value = 7u32;
    let name = String::from("run time");
    trace_userspace_object!(&raw const value, "object seven", "a" => 1u32, "b" => "text");
    trace_userspace_object!(Pointer(0x70), name);
    trace_kernel_object!(0x71, ObjectType(100), "object socket", "port" => 80u32);
    trace_kernel_object!(0x72, ObjectType::THREAD, name);
    let records = recording.end();
    assert_eq!(
        lines(&records, "userspace "),
        [
            format!("userspace {:#x} object seven a=1 b=text", (&raw const value).addr()),
            "userspace 0x70 run time".to_owned()
        ]
    );
    assert!(find(&records, "userspace ")
        .iter()
        .all(|record| record.process == u64::from(std::process::id())));
    assert_eq!(lines(&records, "kernel 100 "), ["kernel 100 0x71 object socket port=80"]);
    let process = std::process::id();
    assert_eq!(
        lines(&records, "kernel 2 0x72 "),
        [format!("kernel 2 0x72 run time process=#{process}")]
    );
}

/// Counts how often it is formatted.
struct Counted<'a>(&'a Cell<u32>);

impl fmt::Display for Counted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.set(self.0.get() + 1);
        f.write_str("counted")
    }
}

/// A message whose formatting fails.
struct Broken;

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("as far as it goes")?;
        Err(fmt::Error)
    }
}

#[test]
fn messages_are_formatted_while_their_category_is_on() {
    let recording = Recording::with(|builder| builder.categories(["on"]));
    let (formatted, x) = (Cell::new(0), 3);
    trace_log!("on", "literal");
    trace_log!("on", "{x} and {} and {:?}", Counted(&formatted), "quoted");
    trace_log!(String::from("on"), "{Broken} {x}");
    trace_log!("off", "{}", Counted(&formatted));
    trace_log!(String::from("off"), "{}", Counted(&formatted));
    trace_log!("on", "{}", "é".repeat(20_000));
    trace_log!("on", "{}{}", "x", "é".repeat(20_000));
    let records = recording.end();
    let messages = lines(&records, "log ");
    assert_eq!(
        messages[..3],
        ["log literal", "log 3 and counted and \"quoted\"", "log as far as it goes"]
    );
    assert_eq!(
        messages[3..].iter().map(|message| message.len() - "log ".len()).collect::<Vec<_>>(),
        [32_000, 31_999]
    );
    assert_eq!(formatted.get(), 1);
    assert!(find(&records, "log ")
        .iter()
        .all(|record| record.thread == this_thread() && record.ticks > 0));
}

/// A string that does not fit into its record is cut, and the trace reports it.
#[test]
fn strings_that_are_cut_are_counted() {
    let recording = Recording::start();
    let (long, longer) = ("a".repeat(20_000), "b".repeat(40_000));
    trace_instant!("on", "fits", "one" => &*long);
    trace_instant!("on", "two", "first" => &*long, "second" => &*long);
    trace_instant!("on", "one", "alone" => &*longer);
    trace_log!("on", "{longer}");
    let records = recording.end();
    let cut = lines(&records, "trace/strings cut");
    let [cut] = cut.as_slice() else { panic!("{cut:?}") };
    assert!(cut.ends_with("number=4"), "{cut}");
}

#[test]
fn whole_strings_are_not_reported() {
    let recording = Recording::start();
    trace_instant!("on", "fits", "one" => &*"a".repeat(32_000));
    assert_eq!(lines(&recording.end(), "strings cut"), [] as [&str; 0]);
}

/// An application can name its own process, but no other.
#[test]
fn names_of_other_processes_are_refused() {
    let recording = Recording::start();
    let own = u64::from(std::process::id());
    trace_kernel_object!(own, ObjectType::PROCESS, "this process");
    trace_kernel_object!(4242, ObjectType::PROCESS, "another process");
    let records = recording.end();
    assert_eq!(lines(&records, "this process"), [format!("kernel 1 {own:#x} this process")]);
    assert_eq!(lines(&records, "another process"), [] as [&str; 0]);
    assert!(lines(&records, "trace/records refused").concat().ends_with("number=1"));
}
