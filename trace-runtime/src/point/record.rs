//! Records other than events: reserve, fill in order, commit.

use std::sync::atomic::{AtomicU64, Ordering};

use trace_format::layout::StringRef;

use super::names::{BothAtRunTime, Literal, NameAtRunTime};
use super::site::Switch;
use crate::thread::slot;
use crate::value::{encode_bytes, inline_ref, Limit};
use crate::RECORDER;

/// Writes a record of `words` words if the site is on. If the buffer is full, the record is dropped
/// and counted.
///
/// `fill` gets the site's header and the words after the record's header, and returns the record's
/// header.
#[inline]
pub(super) fn write(
    site: &impl Switch,
    words: usize,
    fill: impl FnOnce(u64, &mut Fill<'_>) -> u64,
) {
    let Some(open) = slot().and_then(|slot| slot.open(&RECORDER, words)) else { return };
    let header = site.header();
    if header == 0 {
        open.abandon();
        return;
    }
    let header = fill(header, &mut Fill(open.words().get(1..).unwrap_or(&[])));
    open.commit(header);
}

/// The words of a record that are not filled yet.
#[derive(Debug)]
pub(super) struct Fill<'a>(&'a [AtomicU64]);

impl<'a> Fill<'a> {
    /// Returns the next `count` words.
    pub(super) fn take(&mut self, count: usize) -> &'a [AtomicU64] {
        let (taken, rest) = self.0.split_at_checked(count).unwrap_or((&[], &[]));
        self.0 = rest;
        taken
    }

    /// Stores a word.
    pub(super) fn word(&mut self, value: u64) {
        if let [word] = self.take(1) {
            word.store(value, Ordering::Relaxed);
        }
    }

    /// Stores bytes, padded with zeros to whole words.
    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        encode_bytes(bytes, self.take(bytes.len().div_ceil(8)));
    }
}

/// A text in the record. If it is empty, the string table has the text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Inline<'a>(&'a str);

impl<'a> Inline<'a> {
    /// Returns the text, cut so that all texts of the record fit.
    pub(super) fn new(text: &'a str) -> Self {
        Self::whole(Limit::SHORT.cut_and_count(text))
    }

    /// Returns a text that is short enough.
    pub(super) fn whole(text: &'a str) -> Self {
        Self(text)
    }

    pub(super) fn words(self) -> usize {
        self.0.len().div_ceil(8)
    }

    /// Returns its string ref, or `indexed` if the string table has the text.
    pub(super) fn bits(self, indexed: u64) -> u64 {
        match inline_ref(self.0) {
            StringRef::EMPTY => indexed,
            inline => u64::from(inline.bits()),
        }
    }

    pub(super) fn encode(self, fill: &mut Fill<'_>) {
        fill.bytes(self.0.as_bytes());
    }
}

/// The category and name of a record, if they are in the record.
pub trait Texts: Copy {
    /// Returns category and name. A text in the string table is empty here.
    fn texts(&self) -> [&str; 2];
}

impl Texts for Literal {
    fn texts(&self) -> [&str; 2] {
        ["", ""]
    }
}

impl Texts for NameAtRunTime<'_> {
    fn texts(&self) -> [&str; 2] {
        ["", self.0]
    }
}

impl Texts for BothAtRunTime<'_> {
    fn texts(&self) -> [&str; 2] {
        [self.0, self.1]
    }
}
