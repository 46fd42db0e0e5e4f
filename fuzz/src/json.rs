//! The Trace Event Format out of any bytes, and of archives.

use std::fmt::Write;

use trace_analyze::check;
use trace_convert::{chrome, tef, text, ConvertError};
use trace_format::reader::Limits;
use trace_format::Reader;

use crate::archive::MAGIC;

/// Takes bytes for a document: what can be read of it becomes an archive that is
/// well-formed, and comes back as a document that then stays what it is. The
/// first time only values stay: `1e3` becomes `1000.0`, and that `1000`.
pub fn json(bytes: &[u8]) {
    let given = lenient(bytes);
    let Some(archive) = to_fxt(bytes) else {
        return;
    };
    survivors(bytes, &given);
    let report = check::check(Reader::new(&archive[..])).expect("memory can be read");
    let stats = report.damage.stats;
    assert_eq!((stats.bad_records, stats.unknown_records), (0, 0), "{report:?}");
    let first = again(&to_json(&archive));
    assert_eq!(String::from_utf8(again(&first)), String::from_utf8(first));
}

/// A lenient reader fails only where there is no document at all, and counts
/// something where another one fails, and nothing where it does not.
fn lenient(bytes: &[u8]) -> Vec<String> {
    let (given, skipped) = items(bytes, true).expect("a lenient reader goes on");
    match items(bytes, false) {
        Ok((strict, _)) => assert_eq!((strict, skipped.parts), (given.clone(), 0)),
        Err(error) if skipped.parts == 0 => assert!(given.is_empty(), "{error}"),
        Err(error) => assert_eq!(skipped.first.map(|first| first.to_string()), Some(error)),
    }
    given
}

/// Of a document of which half an event is missing a lenient reader gives all
/// others that say what they are.
fn survivors(bytes: &[u8], given: &[String]) {
    let text = std::str::from_utf8(bytes).expect("it was read");
    let mut given: Vec<_> = given.iter().filter(|item| item.starts_with("{\"ph\":\"")).collect();
    // What comes once is cut where it stands.
    given.retain(|item| text.matches(item.as_str()).count() == 1);
    let Some(cut) = given.get(given.len() / 2).copied() else {
        return;
    };
    let (before, behind) = text.split_once(cut.as_str()).expect("it comes once");
    let half = cut.chars().take(cut.chars().count() / 2).collect::<String>();
    let damaged = [before, &half, behind].concat();
    let (found, _) = items(damaged.as_bytes(), true).expect("a lenient reader goes on");
    for other in given.iter().filter(|other| **other != cut) {
        assert!(found.iter().any(|item| item.contains(*other)), "{other} of {damaged}");
    }
}

/// Returns events, and members with their keys, as they are written; or why a
/// reader stops. There is nothing in what is no document.
fn items(bytes: &[u8], lenient: bool) -> Result<(Vec<String>, tef::Skipped), String> {
    let limits = tef::Limits { lenient, value_bytes: 1 << 16 };
    let mut reader = tef::Reader::with_limits(bytes, limits);
    let mut items = Vec::new();
    if let (Err(_), true) = (reader.form(), lenient) {
        return Ok((items, tef::Skipped::default()));
    }
    while let Some(item) = reader.next().map_err(|error| error.to_string())? {
        items.push(match item {
            tef::Item::Event(event) => event.text().to_owned(),
            tef::Item::Member(member) => member.written.to_owned(),
        });
    }
    Ok((items, reader.into_skipped()))
}

pub(crate) fn to_fxt(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut archive = Vec::new();
    match tef::to_fxt(tef::Reader::new(bytes), &mut archive) {
        Ok(_) => Some(archive),
        Err(ConvertError::Json(_)) => None,
        Err(error) => panic!("{error:?}"),
    }
}

/// Converts a document that was written here, there and back.
fn again(json: &[u8]) -> Vec<u8> {
    to_json(&to_fxt(json).expect("what was written can be read"))
}

pub(crate) fn to_json(archive: &[u8]) -> Vec<u8> {
    let mut json = Vec::new();
    chrome::write(Reader::new(archive), &mut json).expect("it starts as archives do");
    json
}

/// Takes bytes for an archive: all that reads archives gets to its end, and the
/// JSON that is made of it is JSON.
pub fn fxt(bytes: &[u8]) {
    let bytes = bytes.strip_prefix(&MAGIC).unwrap_or(bytes);
    let archive = [&MAGIC, bytes].concat();
    let limits = Limits { record_bytes: 1 << 20, ..Limits::default() };
    let mut reader = Reader::with_limits(&archive[..], limits);
    let mut line = String::new();
    loop {
        match reader.next() {
            Ok(Some(item)) => text::line(&mut line, &item).expect("a string takes any text"),
            Ok(None) => break,
            Err(error) => write!(line, "{error}").expect("a string takes any text"),
        }
        line.clear();
    }
    check::check(Reader::new(&archive[..])).expect("memory can be read");
    to_fxt(&to_json(&archive)).expect("what was written is JSON");
}
