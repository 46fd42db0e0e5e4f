//! Archives that are written and read.

mod audit;
mod big_endian;
mod errors;
mod input;
mod limits;
mod properties;
mod records;
mod tables;
mod writer;

use std::io::Read;

use trace_format::audit::Audit;
use trace_format::{
    encode, Arguments, Event, EventKind, Item, ReadError, Reader, Record, Stats, Thread,
    ThreadKoids,
};

const MAGIC: u64 = 0x0016_5478_4604_0010;
const SECTION_1: u64 = 0x0000_0000_0012_0010;
const SECTION_2: u64 = 0x0000_0000_0022_0010;

/// Returns the events and errors of an archive as lines.
fn lines(mut reader: Reader<impl Read>) -> Vec<String> {
    let mut lines = Vec::new();
    loop {
        match reader.next() {
            Ok(None) => return lines,
            Err(error) => lines.push(error.to_string()),
            Ok(Some(item)) => {
                if let Record::Event(event) = item.record {
                    lines.push(line(&item, &event));
                }
            }
        }
    }
}

fn line<'a>(item: &trace_format::Item<'a>, event: &Event<'a>) -> String {
    let ThreadKoids { process, thread } = item.thread(event.thread);
    let (category, name) = (item.text(event.category), item.text(event.name));
    let mut line = format!(
        "{}: {:?} {:?} {} ns {process}/{thread} {category} {name}",
        item.offset,
        item.provider.id(),
        item.provider.name(),
        item.nanos(event.ticks),
    );
    for argument in &event.arguments {
        line += &format!(" {}={:?}", item.text(argument.name), argument.value);
    }
    line
}

fn words_lines(words: &[u64]) -> Vec<String> {
    lines(Reader::new(&*encode::to_bytes(words)))
}

fn stats_of(words: &[u64]) -> (Stats, Audit) {
    let bytes = encode::to_bytes(words);
    let mut reader = Reader::new(&*bytes);
    let mut audit = Audit::default();
    loop {
        match reader.next() {
            Ok(None) => return (reader.stats(), audit),
            Ok(Some(item)) => audit.item(&item),
            Err(_) => {}
        }
    }
}

fn event<'a>(ticks: u64, category: &'a str, name: &'a str, arguments: Arguments<'a>) -> Record<'a> {
    let thread = Thread::Inline(ThreadKoids::new(12, 34));
    let kind = EventKind::DurationBegin;
    let (category, name) = (category.into(), name.into());
    Event { ticks, thread, category, name, kind, arguments }.into()
}

/// Returns a record or an error as text, or `None` at the end.
fn shown(result: Result<Option<Item<'_>>, ReadError>) -> Option<String> {
    match result {
        Ok(item) => item.map(|Item { offset, record, provider, .. }| {
            format!("{offset} {:?} {:?} {record:?}", provider.id(), provider.name())
        }),
        Err(error) => Some(format!("{error:?}")),
    }
}
