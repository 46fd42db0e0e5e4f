//! `trace dump` and `trace check`.

use std::fmt::Write;

use trace_analyze::{check, Damage};
use trace_convert::text;
use trace_format::audit::Audit;
use trace_format::notes::{CATEGORY, RESERVED};
use trace_format::{Decoder, EventKind, Item, ReadError, Reader, Record, Stats};

use crate::archive::archive;

/// Takes bytes for an archive: dump, check and the decoder of pieces find the same.
pub fn read(bytes: &[u8]) {
    let archive = archive(bytes);
    let dump = Dump::of(&archive);
    checked(&archive, &dump);
    let damage =
        Damage::of_all(Reader::new(&archive[..]), |_| {}).expect("it starts as archives do");
    assert_eq!((damage.stats, damage.audit), (dump.stats, dump.audit));
    assert_eq!(damage.is_readable(), dump.is_readable());
    assert_eq!(in_pieces(&archive, usize::from(bytes.len() as u8 % 23) + 1), dump.lines);
}

#[derive(Default)]
struct Dump {
    lines: Vec<String>,
    events: u64,
    errors: u64,
    stats: Stats,
    audit: Audit,
}

impl Dump {
    fn of(archive: &[u8]) -> Self {
        let (mut reader, mut dump) = (Reader::new(archive), Self::default());
        loop {
            match reader.next() {
                Ok(Some(item)) => {
                    dump.audit.item(&item);
                    dump.events += u64::from(is_counted(&item));
                    dump.lines.push(line(&item));
                }
                Ok(None) => break,
                Err(error) => {
                    dump.errors += 1;
                    dump.lines.push(error_line(&error));
                }
            }
        }
        dump.stats = reader.stats();
        let ends_whole = reader.offset() == archive.len() as u64;
        assert!(ends_whole || dump.errors > 0, "the reader stops at the end or at an error");
        dump
    }

    /// Unknown types of arguments and saturated times are read, and counted.
    fn is_readable(&self) -> bool {
        let Audit { unknown_strings, unknown_threads, .. } = self.audit;
        self.errors + unknown_strings + unknown_threads == 0
    }
}

/// Returns whether a record is an event that check counts: not an instant that only the writer
/// of an archive adds.
fn is_counted(item: &Item<'_>) -> bool {
    let Record::Event(event) = &item.record else { return false };
    let is_added = matches!(event.kind, EventKind::Instant { .. })
        && item.text(event.category) == CATEGORY
        && RESERVED.contains(&&*item.text(event.name));
    !is_added
}

fn line(item: &Item<'_>) -> String {
    let mut line = String::new();
    text::line(&mut line, item).expect("a string takes any text");
    assert!(!line.contains(char::is_control), "{line:?} is one line and no escape sequence");
    line
}

fn error_line(error: &ReadError) -> String {
    let mut line = String::new();
    write!(line, "{error}").expect("a string takes any text");
    line
}

fn in_pieces(archive: &[u8], size: usize) -> Vec<String> {
    let (mut decoder, mut lines) = (Decoder::default(), Vec::new());
    let (mut pieces, mut is_finished) = (archive.chunks(size), false);
    loop {
        match decoder.next() {
            Ok(Some(item)) => lines.push(line(&item)),
            Err(error) if error.is_fatal() => {
                lines.push(error_line(&error));
                return lines;
            }
            Err(error) => lines.push(error_line(&error)),
            Ok(None) => match pieces.next() {
                Some(piece) => decoder.feed(piece),
                None if is_finished => return lines,
                None => {
                    is_finished = true;
                    decoder.finish();
                }
            },
        }
    }
}

fn checked(archive: &[u8], dump: &Dump) {
    let report = check::check(Reader::new(archive)).expect("memory can be read");
    assert_eq!((report.damage.stats, report.damage.audit), (dump.stats, dump.audit));
    assert_eq!((report.events, report.error_count), (dump.events, dump.errors));
    let of_providers: u64 = report.providers.iter().map(|provider| provider.events).sum();
    assert_eq!(of_providers, dump.events, "each event has a provider");
    let losses = report
        .providers
        .iter()
        .fold(0, |sum: u64, provider| sum.saturating_add(provider.records_dropped));
    assert_eq!(losses, report.damage.records_dropped, "each loss has a provider");
    assert!(report.to_json().is_object());
}
