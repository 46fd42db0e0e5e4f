//! Samples of call stacks, with the names of functions.
//!
//! An address is resolved by the module that the process had mapped there at the time of the
//! sample. The module's file names it, if its build id is the recorded one; else the frame is the
//! module's name with the address in the file. A name in the archive has priority: a userspace
//! object at the address.
//!
//! Memory grows with the number of distinct stacks, and with the number of samples and durations if
//! only samples within durations are selected.

mod images;
mod scopes;
mod symbols;

use std::collections::{BTreeMap, HashMap};
use std::io::Read;

use trace_analyze::catalog::Catalog;
use trace_analyze::objects::Objects;
use trace_analyze::spans::{Span, Spans};
use trace_analyze::stats::Grouping;
use trace_analyze::Damage;
use trace_format::{Backtrace, Item, Reader, Record, ThreadKoids, Value};

use crate::stacks::{frame_name, outer_frames};
use crate::ConvertError;
use images::{Images, Place};
use scopes::Scopes;
pub use symbols::Symbols;

/// The frame of a sample without a stack.
const UNKNOWN: &str = "[unknown]";

/// The samples of an archive.
#[derive(Debug, Default)]
pub struct Samples {
    images: Images,
    spans: Spans,
    /// The names of addresses in the archive.
    names: Catalog,
    /// The places of each distinct stack, innermost first.
    stacks: Vec<Box<[Place]>>,
    /// The number of samples of each thread and stack.
    counts: BTreeMap<(ThreadKoids, u32), u64>,
    /// The damage of the archive.
    pub damage: Damage,
}

/// The samples of which it is not known yet whether they are within durations.
type Waiting = Vec<(ThreadKoids, u64, u32)>;

/// Returns whether durations of a category and a name are selected.
pub type SelectScope<'a> = &'a dyn Fn(&str, &str) -> bool;

/// The state of reading an archive.
#[derive(Default)]
struct Reading<'a> {
    samples: Samples,
    objects: Objects,
    /// The number of each stack.
    numbers: HashMap<Box<[Place]>, u32>,
    /// The selected durations; `None` if all samples are selected.
    select: Option<SelectScope<'a>>,
    scopes: Scopes,
    waiting: Waiting,
}

impl Samples {
    /// Reads the samples of an archive: all, or those that lie in a duration of their thread that
    /// `select` selects.
    ///
    /// # Errors
    ///
    /// The input is not an archive, or reading it failed.
    pub fn read<R: Read>(
        reader: Reader<R>,
        select: Option<SelectScope<'_>>,
    ) -> Result<Self, ConvertError> {
        let mut reading = Reading { select, ..Reading::default() };
        let damage = Damage::of_all(reader, |item| reading.record(item))?;
        let mut samples = reading.finish();
        samples.damage = damage;
        Ok(samples)
    }

    /// Returns the number of samples.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.counts.values().sum()
    }

    /// Returns the number of samples of each stack. Names are ordered from the outermost one on,
    /// separated by `;`. With a grouping, stacks start with the process or thread.
    pub fn folded(&self, grouping: Grouping, symbols: &mut Symbols) -> BTreeMap<String, u64> {
        let mut texts: HashMap<u32, String> = HashMap::new();
        let mut folded = BTreeMap::new();
        for ((koids, stack), number) in &self.counts {
            let text = texts.entry(*stack).or_insert_with(|| self.text(*stack, symbols));
            let mut names = outer_frames(self.spans.catalog(), grouping, *koids);
            names.push(text.clone());
            *folded.entry(names.join(";")).or_default() += number;
        }
        folded
    }

    /// Returns the frames of a stack, the outermost first.
    fn text(&self, stack: u32, symbols: &mut Symbols) -> String {
        let places = self.stacks.get(stack as usize).map(|places| &**places).unwrap_or_default();
        if places.is_empty() {
            return UNKNOWN.to_owned();
        }
        let mut names = Vec::new();
        for place in places.iter().rev() {
            match *place {
                Place::Code { module, address } => {
                    if let Some(module) = self.images.module(module) {
                        let frames = symbols.frames(module, address);
                        names.extend(frames.iter().rev().map(|name| frame_name(name)));
                    }
                }
                Place::Named(name) => names.push(frame_name(self.names.string(name))),
                Place::Unknown(address) => names.push(format!("{address:#x}")),
            }
        }
        names.join(";")
    }
}

impl Reading<'_> {
    fn record(&mut self, item: &Item<'_>) {
        self.objects.note(item);
        let spans: Vec<Span> = self.samples.spans.record(item).collect();
        spans.iter().for_each(|span| self.span(span));
        match &item.record {
            Record::Module(module) => {
                self.samples.images.module_record(item.process(module.process), module);
            }
            Record::Mmap(mmap) => {
                let (process, nanos) = (item.process(mmap.process), item.nanos(mmap.ticks));
                self.samples.images.map(process, nanos, mmap);
            }
            Record::Backtrace(backtrace) => self.backtrace(item, backtrace),
            _ => {}
        }
    }

    fn span(&mut self, span: &Span) {
        let catalog = self.samples.spans.catalog();
        let is_selected = |select: SelectScope<'_>| {
            select(catalog.category(span.label), catalog.name(span.label))
        };
        if self.select.is_some_and(is_selected) {
            self.scopes.add(span);
        }
    }

    fn backtrace(&mut self, item: &Item<'_>, backtrace: &Backtrace<'_>) {
        let (koids, nanos) = (item.thread(backtrace.thread), item.nanos(backtrace.ticks));
        let frames = backtrace.frames.iter().enumerate();
        let places: Box<[Place]> = frames
            .map(|(depth, address)| {
                if let Some(name) = self.objects.name(item, Value::Pointer(address)) {
                    return Place::Named(self.samples.names.intern(name));
                }
                // The call is before the address to which it returns.
                let call = address.saturating_sub(u64::from(depth > 0));
                self.samples.images.place(koids.process, nanos, call)
            })
            .collect();
        let stack = self.number_of(places);
        match self.select {
            Some(_) => self.waiting.push((koids, nanos, stack)),
            None => *self.samples.counts.entry((koids, stack)).or_default() += 1,
        }
    }

    fn number_of(&mut self, places: Box<[Place]>) -> u32 {
        if let Some(number) = self.numbers.get(&places) {
            return *number;
        }
        let number = self.samples.stacks.len() as u32;
        self.samples.stacks.push(places.clone());
        self.numbers.insert(places, number);
        number
    }

    fn finish(mut self) -> Samples {
        let spans: Vec<Span> = self.samples.spans.finish().collect();
        spans.iter().for_each(|span| self.span(span));
        let Self { mut samples, mut scopes, waiting, .. } = self;
        scopes.sort();
        for (koids, nanos, stack) in waiting {
            if scopes.contain(koids, nanos) {
                *samples.counts.entry((koids, stack)).or_default() += 1;
            }
        }
        samples
    }
}

#[cfg(test)]
mod tests;
