//! Bytes as choices.

use trace_format::notes;
use trace_format::record::{Process, Text, Thread};
use trace_format::ThreadKoids;

/// The process that writes, and another one.
pub(crate) const PROCESS: u64 = 4711;
pub(crate) const OTHER_PROCESS: u64 = 4242;

const TEXTS: [&str; 16] = [
    "",
    "a",
    "trace",
    notes::CLOCK_ANCHOR,
    "process",
    "uid",
    "äöüß",
    notes::OVERWRITTEN,
    "task",
    "parent",
    "tef:ph",
    "tef:added",
    "=1+1",
    "a;b 1",
    "<script>&\"'",
    "\u{1b}[2J\n\u{202e}",
];

/// How many of them a provider uses.
const TEXTS_OF_PROVIDER: u8 = 8;

/// Bytes that choose what is written. Where there are none left they are zero.
pub(crate) struct Choices<'a> {
    rest: &'a [u8],
    /// The time of the last record; `None` if all records have the same.
    clock: Option<u64>,
}

impl<'a> Choices<'a> {
    /// Returns choices of records at one time.
    pub(crate) fn at_one_time(rest: &'a [u8]) -> Self {
        Self { rest, clock: None }
    }

    /// Returns choices of records one after another, with some at odd times.
    pub(crate) fn over_time(rest: &'a [u8]) -> Self {
        Self { rest, clock: Some(1_000_000_000) }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(crate) fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.rest.split_first() else { return 0 };
        self.rest = rest;
        *first
    }

    pub(crate) fn below(&mut self, limit: u8) -> u8 {
        self.byte() % limit
    }

    pub(crate) fn word(&mut self) -> u64 {
        (0..8).fold(0, |word, _| word << 8 | u64::from(self.byte()))
    }

    pub(crate) fn bytes(&mut self) -> &'a [u8] {
        let length = usize::from(self.byte()).min(self.rest.len());
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        taken
    }

    pub(crate) fn of<T: Copy>(&mut self, list: &[T]) -> T {
        list[usize::from(self.byte()) % list.len()]
    }

    pub(crate) fn ticks(&mut self) -> u64 {
        let Some(last) = self.clock else { return 1 };
        match self.byte() {
            0 => self.word(),
            1 => last.saturating_sub(5_000),
            2 => u64::MAX,
            step => {
                let now = last.saturating_add(u64::from(step) * 100);
                self.clock = Some(now);
                now
            }
        }
    }

    /// Returns a time at or behind that of the last record.
    pub(crate) fn end(&mut self) -> u64 {
        match self.clock {
            Some(last) => last.saturating_add(u64::from(self.byte()) * 50),
            None => 9,
        }
    }

    pub(crate) fn id(&mut self) -> u64 {
        match self.clock {
            Some(_) => self.of(&[7, 7, 8, 0, u64::MAX]),
            None => 7,
        }
    }

    pub(crate) fn text(&mut self) -> Text<'a> {
        match self.below(4) {
            0 => Text::Indexed(u16::from(self.below(8))),
            1 => Text::Inline(self.bytes()),
            _ => {
                let number =
                    if self.clock.is_some() { TEXTS.len() as u8 } else { TEXTS_OF_PROVIDER };
                TEXTS[usize::from(self.below(number))].into()
            }
        }
    }

    pub(crate) fn thread(&mut self) -> Thread {
        match self.below(3) {
            0 => Thread::Inline(ThreadKoids::new(OTHER_PROCESS, 7)),
            _ => Thread::Indexed(self.below(4)),
        }
    }

    pub(crate) fn process(&mut self) -> Process {
        match self.below(3) {
            0 => Process::Inline(OTHER_PROCESS),
            _ => Process::Indexed(self.below(4)),
        }
    }

    pub(crate) fn koid(&mut self) -> u64 {
        self.of(&[PROCESS, OTHER_PROCESS, 0, 5])
    }
}
