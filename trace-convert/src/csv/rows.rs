//! The events of an archive as lines.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Read, Write};

use trace_analyze::catalog::{LabelId, ThreadId};
use trace_analyze::pairing::Unpaired;
use trace_analyze::spans::Oddities;
use trace_analyze::Damage;
use trace_format::Reader;

use super::cell;
use super::collect::{Collected, Collector};
use super::row::{Key, Row};
use crate::ConvertError;

const HEADER: &str = "process,process_name,thread,thread_name,category,name,depth,begin_ns,\
                      duration_ns,self_ns,kind,id,arguments,message";

/// The events of an archive.
#[derive(Debug, Default)]
pub struct Rows(Collected);

impl Rows {
    /// Reads all events of an archive.
    ///
    /// # Errors
    ///
    /// The input is not an archive, or reading it or writing a temporary file failed.
    pub fn read<R: Read>(reader: Reader<R>) -> Result<Self, ConvertError> {
        Collector::read(reader).map(Self)
    }

    /// Returns the number of lines after the header.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.0.rows
    }

    /// Returns the numbers of inconsistent durations.
    #[must_use]
    pub fn oddities(&self) -> &Oddities {
        &self.0.oddities
    }

    /// Returns the numbers of async operations without a begin or an end, and of such flows. They
    /// have no line.
    #[must_use]
    pub fn unpaired(&self) -> (&Unpaired, &Unpaired) {
        (&self.0.unpaired_operations, &self.0.unpaired_flows)
    }

    /// Returns the number of begins and ends whose arguments are missing in the line of their
    /// duration, because too many durations are open.
    #[must_use]
    pub fn arguments_left_out(&self) -> u64 {
        self.0.arguments_left_out
    }

    /// Returns the missing and unreadable data.
    #[must_use]
    pub fn damage(&self) -> &Damage {
        &self.0.damage
    }

    /// Writes a header and the lines.
    ///
    /// # Errors
    ///
    /// Writing, or reading a temporary file, failed.
    pub fn write(&self, mut output: impl Write) -> io::Result<()> {
        writeln!(output, "{HEADER}")?;
        let catalog = self.0.spans.catalog();
        let cells: Vec<Cow<'_, str>> = catalog.strings().map(cell).collect();
        let names = |label: LabelId| catalog.labels().get(label.0 as usize).copied();
        let text = |string: u32| cells.get(string as usize).map_or("", |cell| cell);
        let (mut thread, mut line) = (None::<Thread>, String::new());
        self.0.sorted.each(|row| {
            let current = match &mut thread {
                Some(current) if current.id == row.key.thread => current,
                other => other.insert(self.thread(row)),
            };
            let names = row.label.and_then(names).map_or(("", ""), |it| (text(it.0), text(it.1)));
            line.clear();
            write_line(&mut line, current, row, names);
            output.write_all(line.as_bytes())
        })?;
        output.flush()
    }

    fn thread(&self, row: &Row<'_>) -> Thread {
        let (koids, catalog) = (row.key.koids, self.0.spans.catalog());
        let process = cell(catalog.process_name(koids.process));
        let name = cell(catalog.thread_name(koids));
        let cells = format!("{},{process},{},{name}", koids.process, koids.thread);
        Thread { id: row.key.thread, cells, open: Open::default() }
    }
}

/// Appends the line of a row.
fn write_line(line: &mut String, thread: &mut Thread, row: &Row<'_>, names: (&str, &str)) {
    let depth = row.own.map(|_| thread.open.depth(&row.key));
    for text in [&*thread.cells, names.0, names.1] {
        line.push_str(text);
        line.push(',');
    }
    for number in [depth, Some(row.key.begin), row.length, row.own] {
        push_number(line, number);
        line.push(',');
    }
    line.push_str(row.kind.as_str());
    line.push(',');
    if let Some(id) = row.id {
        write!(line, "{id:#x}").expect("a string takes any text");
    }
    line.push(',');
    line.push_str(if row.text.is_empty() { "," } else { row.text });
    line.push('\n');
}

fn push_number(line: &mut String, number: Option<u64>) {
    if let Some(number) = number {
        write!(line, "{number}").expect("a string takes any text");
    }
}

/// The thread of the current line.
struct Thread {
    id: ThreadId,
    /// Its cells.
    cells: String,
    open: Open,
}

/// The ends of open durations.
#[derive(Default)]
struct Open(Vec<u64>);

impl Open {
    /// Returns the number of durations around the next duration.
    fn depth(&mut self, key: &Key) -> u64 {
        while self.0.last().is_some_and(|end| *end <= key.begin) {
            self.0.pop();
        }
        let (depth, end) = (self.0.len() as u64, key.end.0);
        self.0.push(self.0.last().map_or(end, |around| end.min(*around)));
        depth
    }
}

#[cfg(test)]
mod tests {
    use trace_format::{Argument, Event, EventKind, Log, Record, Thread, ThreadKoids, Value};

    use super::*;
    use crate::testing::archive;
    use EventKind::*;

    fn of_thread<'a>(
        thread: u64,
        (ticks, name, kind): (u64, &'a str, EventKind),
        arguments: &'a [Argument<'a>],
    ) -> Record<'a> {
        let thread = Thread::Inline(ThreadKoids::new(1, thread));
        let (category, name, arguments) = ("cat".into(), name.into(), arguments.into());
        Event { ticks, thread, category, name, kind, arguments }.into()
    }

    fn anchor(ticks: u64) -> Record<'static> {
        let event = of_thread(2, (ticks, "clock anchor", Instant { scope: None }), &[]);
        let Record::Event(event) = event else { unreachable!() };
        Event { category: "trace".into(), ..event }.into()
    }

    fn lines(records: &[Record<'_>]) -> Vec<String> {
        let mut output = Vec::new();
        let rows = Rows::read(Reader::new(&*archive(records))).unwrap();
        rows.write(&mut output).unwrap();
        let text = String::from_utf8(output).unwrap();
        let lines: Vec<String> = text.lines().skip(1).map(str::to_owned).collect();
        assert_eq!(lines.len() as u64, rows.number());
        lines
    }

    #[test]
    fn durations_have_depth_and_self_time() {
        let event = |thread, ticks, name, end| {
            of_thread(thread, (ticks, name, DurationComplete { end }), &[])
        };
        let records = [
            event(2, 110, "a;b", 140),
            event(2, 100, "main", 200),
            event(2, 120, "leaf", 130),
            event(3, 100, "main", 150),
            // Outlasts its parent.
            event(3, 140, "leaf", 170),
        ];
        let expected = [
            "1,,2,,cat,main,0,100,100,70,duration,,,",
            "1,,2,,cat,a;b,1,110,30,20,duration,,,",
            "1,,2,,cat,leaf,2,120,10,10,duration,,,",
            "1,,3,,cat,main,0,100,50,40,duration,,,",
            "1,,3,,cat,leaf,1,140,30,30,duration,,,",
        ];
        assert_eq!(lines(&records), expected);
    }

    #[test]
    fn every_kind_has_lines() {
        let (url, level) = ([Argument::new("url", Value::String("/a,b".into()))], "level");
        let (state, depth) = ([Argument::new("state", Value::Bool(true))], "depth");
        let (task, count) = ("task", "poll-count");
        let poll = [task, count].map(|name| Argument::new(name, Value::Uint32(7)));
        let level = [Argument::new(level, Value::String("WARN".into()))];
        let depth = [Argument::new(depth, Value::Uint64(u64::MAX))];
        let thread = Thread::Inline(ThreadKoids::new(1, 2));
        let event = |ticks, name, kind, arguments| of_thread(2, (ticks, name, kind), arguments);
        let records = [
            event(10, "request", AsyncBegin { id: 7 }, &url),
            event(20, "request", DurationComplete { end: 30 }, &poll),
            event(22, "step", AsyncInstant { id: 7 }, &[]),
            event(24, "send", FlowBegin { id: u64::MAX }, &[]),
            event(25, "send", FlowStep { id: u64::MAX }, &[]),
            of_thread(3, (26, "send", FlowEnd { id: u64::MAX }), &state),
            event(40, "moment", Instant { scope: None }, &level),
            event(50, "queue", Counter { id: 0 }, &depth),
            Record::Log(Log { ticks: 60, thread, message: b"=1, \"two\"\nlines" }),
            event(70, "request", AsyncEnd { id: 7 }, &state),
            // Without an end.
            event(80, "lost", AsyncBegin { id: 9 }, &[]),
            anchor(90),
        ];
        let expected = [
            r#"1,,2,,cat,request,,10,60,,async,0x7,"{""state"":true,""url"":""/a,b""}","#,
            r#"1,,2,,cat,request,0,20,10,10,poll,,"{""task"":""0x7"",""poll-count"":7}","#,
            "1,,2,,cat,step,,22,,,async-instant,0x7,,",
            r#"1,,2,,cat,send,,24,2,,flow,0xffffffffffffffff,"{""state"":true}","#,
            "1,,2,,cat,send,,25,,,flow-step,0xffffffffffffffff,,",
            r#"1,,2,,cat,moment,,40,,,instant,,"{""level"":""WARN""}","#,
            r#"1,,2,,cat,queue,,50,,,counter,0x0,"{""depth"":""18446744073709551615""}","#,
            r#"1,,2,,,,,60,,,log,,,"'=1, ""two""\nlines""#,
        ];
        assert_eq!(lines(&records), expected);
    }

    #[test]
    fn arguments_of_begin_and_end_are_joined() {
        let one = [Argument::new("n", Value::Int32(1)), Argument::new("a", Value::Bool(true))];
        let two = [Argument::new("n", Value::Int32(2)), Argument::new("n", Value::Int32(3))];
        let name = [Argument::new("\u{9b}\u{1b}", Value::String("\u{202e}=".into()))];
        let records = [
            of_thread(2, (10, "a", DurationBegin), &one),
            of_thread(2, (20, "b", DurationBegin), &[]),
            of_thread(2, (30, "b", DurationEnd), &name),
            of_thread(2, (40, "a", DurationEnd), &two),
        ];
        let expected = [
            r#"1,,2,,cat,a,0,10,30,20,duration,,"{""a"":true,""n"":[1,2,3]}","#,
            r#"1,,2,,cat,b,1,20,10,10,duration,,"{""\u009b\u001b"":""\u202e=""}","#,
        ];
        assert_eq!(lines(&records), expected);
    }
}
