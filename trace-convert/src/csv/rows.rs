//! The events of an archive as lines.

use std::borrow::Cow;
use std::io::{self, Read, Write};

use trace_analyze::catalog::{LabelId, ThreadId};
use trace_analyze::pairing::Unpaired;
use trace_analyze::spans::Oddities;
use trace_analyze::Damage;
use trace_format::{Reader, ThreadKoids};

use super::cell;
use super::collect::{Collected, Collector};
use super::kind::Kind;
use super::row::Row;
use crate::ConvertError;

const HEADER: &str = "process,process_name,thread,thread_name,category,name,depth,begin_ns,\
                      duration_ns,self_ns,kind,id,arguments,message";

/// The size of the writes to an output, in bytes.
const PIECE_BYTES: usize = 64 << 10;

/// The events of an archive.
#[derive(Debug)]
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
        let catalog = &self.0.catalog;
        let cells: Vec<Cow<'_, str>> = catalog.strings().map(cell).collect();
        let mut lines = Vec::with_capacity(PIECE_BYTES);
        writeln!(lines, "{HEADER}")?;
        for (koids, thread) in self.threads() {
            let around = self.cells(koids);
            let mut open = Open::default();
            self.0.sorted.each(thread, |row| {
                let names = self.names(&cells, row);
                write_line(&mut lines, &around, names, row, &mut open)?;
                write_full(&mut lines, &mut output)
            })?;
        }
        output.write_all(&lines)?;
        output.flush()
    }

    /// Returns all threads in order. One process can have several providers.
    fn threads(&self) -> Vec<(ThreadKoids, ThreadId)> {
        let threads = self.0.catalog.threads().iter().copied().zip((0..).map(ThreadId));
        let mut threads: Vec<(ThreadKoids, ThreadId)> = threads.collect();
        threads.sort_unstable();
        threads
    }

    /// Returns the cells of a thread.
    fn cells(&self, koids: ThreadKoids) -> String {
        let process = cell(self.0.catalog.process_name(koids.process));
        let name = cell(self.0.catalog.thread_name(koids));
        format!("{},{process},{},{name},", koids.process, koids.thread)
    }

    /// Returns the cells of a row's category and name.
    fn names<'a>(&self, cells: &'a [Cow<'_, str>], row: &Row) -> [&'a str; 2] {
        let LabelId(label) = row.label;
        let strings = self.0.catalog.labels().get(label as usize);
        let (category, name) = strings.filter(|_| row.kind != Kind::Log).copied().unzip();
        let text = |string: Option<u32>| cells.get(string? as usize).map(|cell| &**cell);
        [category, name].map(|string| text(string).unwrap_or_default())
    }
}

/// Writes the lines if they fill a piece.
fn write_full(lines: &mut Vec<u8>, output: &mut impl Write) -> io::Result<()> {
    if lines.len() >= PIECE_BYTES {
        output.write_all(lines)?;
        lines.clear();
    }
    Ok(())
}

/// Appends the line of a row.
fn write_line(
    line: &mut Vec<u8>,
    thread: &str,
    names: [&str; 2],
    row: &Row,
    open: &mut Open,
) -> io::Result<()> {
    let Row { kind, begin, length, own, .. } = *row;
    line.extend_from_slice(thread.as_bytes());
    for name in names {
        line.extend_from_slice(name.as_bytes());
        line.push(b',');
    }
    let depth = kind.is_duration().then(|| open.depth(row));
    let (length, own) = (kind.has_length().then_some(length), kind.is_duration().then_some(own));
    for number in [depth, Some(begin), length, own] {
        if let Some(number) = number {
            push_decimal(line, number);
        }
        line.push(b',');
    }
    line.extend_from_slice(kind.as_str().as_bytes());
    line.push(b',');
    if kind.has_id() {
        write!(line, "{:#x}", row.id)?;
    }
    line.push(b',');
    line.extend_from_slice(if row.text.is_empty() { b"," } else { row.text.as_bytes() });
    line.push(b'\n');
    Ok(())
}

/// Appends a number, in less time than `write!`.
fn push_decimal(line: &mut Vec<u8>, mut number: u64) {
    let mut digits = [b'0'; 20];
    let mut from = digits.len();
    for pair in digits.rchunks_exact_mut(2) {
        let [tens, ones] = [number / 10 % 10, number % 10];
        pair.copy_from_slice(&[b'0' + tens as u8, b'0' + ones as u8]);
        from -= if number < 10 { 1 } else { 2 };
        number /= 100;
        if number == 0 {
            break;
        }
    }
    line.extend_from_slice(digits.get(from..).unwrap_or_default());
}

/// The ends of open durations.
#[derive(Default)]
struct Open(Vec<u64>);

impl Open {
    /// Returns the number of durations around the next duration.
    fn depth(&mut self, row: &Row) -> u64 {
        while self.0.last().is_some_and(|end| *end <= row.begin) {
            self.0.pop();
        }
        let (depth, end) = (self.0.len() as u64, row.end());
        self.0.push(self.0.last().map_or(end, |around| end.min(*around)));
        depth
    }
}

#[cfg(test)]
mod tests {
    use trace_format::{
        Argument, Event, EventKind, Log, Record, Text, Thread, ThreadKoids, Value, Writer,
    };

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
        lines_of(&archive(records))
    }

    fn lines_of(archive: &[u8]) -> Vec<String> {
        let mut output = Vec::new();
        let rows = Rows::read(Reader::new(archive)).unwrap();
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

    /// At 3 GHz the length of the first one is 0.67 ns. It ends before the second one.
    #[test]
    fn durations_that_touch_have_the_same_depth() {
        let mut writer = Writer::new(Vec::new()).unwrap();
        writer.provider(1, "app").unwrap();
        writer.initialization(3_000_000_000).unwrap();
        for (begin, end) in [(3, 5), (5, 30)] {
            let event = of_thread(2, (begin, "a", DurationComplete { end }), &[]);
            writer.record(&event).unwrap();
        }
        let expected = ["1,,2,,cat,a,0,1,1,1,duration,,,", "1,,2,,cat,a,0,1,8,8,duration,,,"];
        assert_eq!(lines_of(&writer.into_inner()), expected);
    }

    /// Integers and strings, and the series of a counter.
    #[test]
    fn ids_of_operations_are_hexadecimal() {
        let ids = [
            Argument::new("task", Value::Uint32(7)),
            Argument::new("parent", Value::String("9007199254740993".into())),
            Argument::new("follows_from", Value::String("none".into())),
        ];
        let records = [
            of_thread(2, (10, "a", Instant { scope: None }), &ids),
            of_thread(2, (20, "n", Counter { id: 1 }), &ids[..1]),
        ];
        let expected = [
            r#"1,,2,,cat,a,,10,,,instant,,"{""task"":""0x7"",""parent"":""0x20000000000001"",""follows_from"":""none""}","#,
            r#"1,,2,,cat,n,,20,,,counter,0x1,"{""task"":7}","#,
        ];
        assert_eq!(lines(&records), expected);
    }

    /// Numbers keep their digits, and arrays of begin and end are two values.
    #[test]
    fn arguments_of_json_are_embedded() {
        let json = |text| Value::String(Text::from(text));
        let list = |text| [Argument::new("tef:arg:list", json(text))];
        let (one, two) = (list("[1.10,\n {\"a\": \"b c\"}]"), list("[2e1]"));
        let others = [
            Argument::new("tef:arg:broken", json("[1,")),
            Argument::new("tef:json:id2", json("{}")),
            Argument::new("tef:args", Value::Null),
            Argument::new("x", Value::Double(0.1)),
        ];
        let records = [
            of_thread(2, (10, "a", DurationBegin), &one),
            of_thread(2, (20, "a", DurationEnd), &two),
            of_thread(2, (30, "b", Instant { scope: None }), &others),
        ];
        let expected = [
            r#"1,,2,,cat,a,0,10,10,10,duration,,"{""list"":[[1.10, {""a"": ""b c""}],[2e1]]}","#,
            r#"1,,2,,cat,b,,30,,,instant,,"{""broken"":""[1,"",""x"":0.1}","#,
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
            r#"1,,2,,cat,request,,10,60,,async,0x7,"{""url"":""/a,b"",""state"":true}","#,
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
            r#"1,,2,,cat,a,0,10,30,20,duration,,"{""n"":[1,2,3],""a"":true}","#,
            r#"1,,2,,cat,b,1,20,10,10,duration,,"{""\u009b\u001b"":""\u202e=""}","#,
        ];
        assert_eq!(lines(&records), expected);
    }

    /// Both the rows and their arguments are larger than what is kept in memory.
    #[test]
    fn rows_of_large_archives_are_sorted_with_their_arguments() {
        let number = 60_000;
        let text = |begin: u64| format!("{begin}").repeat(12);
        let mut writer = Writer::new(Vec::new()).unwrap();
        writer.provider(1, "app").unwrap();
        writer.initialization(1_000_000_000).unwrap();
        for index in 0..number {
            // All begins once, most of them not in order.
            let begin = index * 7919 % number;
            let text = text(begin);
            let argument = [Argument::new("t", Value::String(text.as_str().into()))];
            let event = of_thread(2 + begin % 3, (begin, "n", AsyncInstant { id: 1 }), &argument);
            writer.record(&event).unwrap();
        }
        for index in 0..number {
            let (begin, text) = (number + index, text(index));
            let argument = [Argument::new("t", Value::String(text.as_str().into()))];
            let kind = DurationComplete { end: begin + 1 };
            writer.record(&of_thread(5, (begin, "d", kind), &argument)).unwrap();
        }
        let lines = lines_of(&writer.into_inner());
        let arguments = |text| format!(r#""{{""t"":""{text}""}}","#);
        let instants = (0..3).flat_map(|first| (first..number).step_by(3)).map(|begin| {
            let (thread, arguments) = (2 + begin % 3, arguments(text(begin)));
            format!("1,,{thread},,cat,n,,{begin},,,async-instant,0x1,{arguments}")
        });
        let durations = (0..number).map(|index| {
            let (begin, arguments) = (number + index, arguments(text(index)));
            format!("1,,5,,cat,d,0,{begin},1,1,duration,,{arguments}")
        });
        let expected: Vec<String> = instants.chain(durations).collect();
        assert_eq!(lines.len(), expected.len());
        for (line, expected) in lines.iter().zip(&expected) {
            assert_eq!(line, expected);
        }
    }
}
