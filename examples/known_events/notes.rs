//! The file with the recorded events.

use std::fmt::Write as _;
use std::path::Path;
use std::{fs, io};

use crate::value::{text, Value};

/// The notes of one thread: lines of JSON.
///
/// ```text
/// {"kind": "process", "koid": 7, "name": "known_events"}
/// {"kind": "thread", "koid": 8, "process": 7, "name": "worker"}
/// {"kind": "instant", "thread": 8, "category": "c", "name": "n", "tail": "1", "args": [["key", "u64", "5"]]}
/// ```
///
/// The kinds of events are `instant`, `counter`, `duration_begin`, `duration_end`, `scope_begin`,
/// `scope_end`, `async_begin`, `async_instant`, `async_end`, `flow_begin`, `flow_step` and
/// `flow_end`. `tail` is the id or the scope (0 thread, 1 process, 2 global). Numbers of 64 bits
/// are text; an `f64` is represented by its bits.
pub(crate) struct Notes {
    thread: u64,
    lines: String,
}

impl Notes {
    /// Creates the notes of the calling thread, which begin with its description.
    pub(crate) fn of_this_thread() -> Self {
        let name = fs::read_to_string("/proc/thread-self/comm").unwrap_or_default();
        Self::of_thread(this_thread(), name.trim_end_matches('\n'))
    }

    /// Creates the notes of a thread or a track, which begin with its description.
    pub(crate) fn of_thread(thread: u64, name: &str) -> Self {
        let process = std::process::id();
        let mut notes = Self { thread, lines: String::new() };
        notes.line(format_args!(
            r#"{{"kind":"thread","koid":{thread},"process":{process},"name":{}}}"#,
            text(name)
        ));
        notes
    }

    /// Notes an event; `point` is the name of its macro.
    pub(crate) fn event(
        &mut self,
        point: &str,
        names: [&str; 2],
        tail: Option<u64>,
        args: &[(&str, Value)],
    ) {
        let kind = point.trim_start_matches("trace_");
        let [category, name] = names.map(text);
        let tail = tail.map_or("null".to_owned(), |tail| format!("\"{tail}\""));
        let thread = self.thread;
        let args: Vec<String> =
            args.iter().map(|(key, value)| format!("[{},{value}]", text(key))).collect();
        self.line(format_args!(
            r#"{{"kind":"{kind}","thread":{thread},"category":{category},"name":{name},"tail":{tail},"args":[{}]}}"#,
            args.join(",")
        ));
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        let _infallible = writeln!(self.lines, "{line}");
    }
}

/// Writes the notes of all threads to a file.
pub(crate) fn write(path: &Path, notes: &[Notes]) -> io::Result<()> {
    let process = std::process::id();
    let name = std::env::current_exe()?;
    let name = name.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let mut lines =
        format!("{{\"kind\":\"process\",\"koid\":{process},\"name\":{}}}\n", text(&name));
    lines.extend(notes.iter().map(|notes| notes.lines.as_str()));
    fs::write(path, lines)
}

/// Returns the Linux id of the calling thread.
fn this_thread() -> u64 {
    let link = fs::read_link("/proc/thread-self").expect("Linux has /proc/thread-self");
    let number = link.file_name().and_then(|name| name.to_str()).and_then(|name| name.parse().ok());
    number.expect("the link ends with the thread's number")
}

/// Runs a trace point and notes it: `notes, macro, category, name, [id or scope], key => value, …`.
#[macro_export]
macro_rules! known {
    ($notes:expr, $point:ident, $category:tt, $name:tt, [$($tail:expr)?] $(, $key:literal => $value:expr)* $(,)?) => {{
        ::trace_runtime::$point!($category, $name $(, $tail)? $(, $key => $value)*);
        let tail = None::<u64>$(.or(Some($crate::value::Tail::bits($tail))))?;
        let args = [$(($key, $crate::value::Known::known(&$value))),*];
        $notes.event(stringify!($point), [AsRef::<str>::as_ref(&$category), AsRef::<str>::as_ref(&$name)], tail, &args);
    }};
}

/// Runs a block in a scope and notes both: `notes, category, name, [key => value, …] { block }`.
#[macro_export]
macro_rules! scope {
    ($notes:expr, $category:tt, $name:tt, [$($key:literal => $value:expr),*] $block:block) => {{
        ::trace_runtime::trace_duration!($category, $name $(, $key => $value)*);
        let args = [$(($key, $crate::value::Known::known(&$value))),*];
        let names = [AsRef::<str>::as_ref(&$category), AsRef::<str>::as_ref(&$name)].map(str::to_owned);
        let names = names.each_ref().map(String::as_str);
        $notes.event("scope_begin", names, None, &args);
        $block
        $notes.event("scope_end", names, None, &[]);
    }};
}
