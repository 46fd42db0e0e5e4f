//! Samples of call stacks, with the names of functions.
//!
//! An address is resolved by the module that the process had mapped there at the time of the
//! sample. A name in the archive has priority: a userspace object at the address, or one that
//! [`symbolize`](mod@crate::symbolize) added. Else the module's file names it, if its build id is
//! the recorded one; else the frame is the module's name with the address in the file.
//!
//! Memory grows with the number of distinct stacks, and with the number of samples and durations if
//! only samples within durations are selected.

mod scopes;

use std::collections::{BTreeMap, HashMap};
use std::io::Read;

use trace_analyze::catalog::Catalog;
use trace_analyze::objects::Objects;
use trace_analyze::spans::{Span, Spans};
use trace_analyze::stats::Grouping;
use trace_analyze::Damage;
use trace_format::{Backtrace, Item, Reader, Record, ThreadKoids};

use crate::images::{CodeAddress, Images, Place};
use crate::stacks::{frame_name, outer_frames};
use crate::symbols::{unnamed, Symbols};
use crate::weights::Weights;
use crate::ConvertError;
use scopes::Scopes;

/// The frame of a sample without a stack.
const UNKNOWN: &str = "[unknown]";

/// The samples of an archive.
#[derive(Debug, Default)]
pub struct Samples {
    images: Images,
    spans: Spans,
    /// The names of addresses in the archive.
    names: Catalog,
    /// The frames of each distinct stack, innermost first.
    stacks: Vec<Stack>,
    /// The samples of each thread and stack.
    counts: BTreeMap<(ThreadKoids, u32), Count>,
    /// The names of functions.
    pub symbols: Symbols,
    /// The damage of the archive.
    pub damage: Damage,
}

/// A number of samples, and the sum of their weights.
#[derive(Debug, Clone, Copy, Default)]
struct Count {
    number: u64,
    weight: u64,
}

/// The addresses of a stack, innermost first.
type Stack = Box<[Address]>;

/// An address of a stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Address {
    Code(CodeAddress),
    /// The number of the name in the catalog.
    Named(u32),
    Unknown(u64),
}

/// The samples of which it is not known yet whether they are within durations.
type Waiting = Vec<(ThreadKoids, u64, u32, u64)>;

/// Returns whether durations of a category, a name and a length in nanoseconds are selected.
pub type SelectScope<'a> = &'a dyn Fn(&str, &str, u64) -> bool;

/// The state of reading an archive.
#[derive(Default)]
struct Reading<'a> {
    samples: Samples,
    objects: Objects,
    /// The number of each stack.
    numbers: HashMap<Stack, u32>,
    /// The selected durations; `None` if all samples are selected.
    select: Option<SelectScope<'a>>,
    scopes: Scopes,
    waiting: Waiting,
    weights: Weights,
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
        self.counts.values().map(|count| count.number).sum()
    }

    /// Returns whether a sample has another weight than 1.
    #[must_use]
    pub fn are_weighted(&self) -> bool {
        self.counts.values().any(|count| count.weight != count.number)
    }

    /// Returns the number of records of modules and mappings that are not used, because there are
    /// too many.
    #[must_use]
    pub fn omitted_mappings(&self) -> u64 {
        self.images.omitted()
    }

    /// Returns whether most stacks have one frame or two. Without frame pointers, the kernel does
    /// not find the callers of a function.
    #[must_use]
    pub fn lack_callers(&self) -> bool {
        let frames = |stack: u32| {
            let stack = self.stacks.get(stack as usize).into_iter().flat_map(|stack| &**stack);
            stack.filter(|address| !matches!(address, Address::Unknown(0))).count()
        };
        let short = self.counts.iter().filter(|((_, stack), _)| frames(*stack) <= 2);
        short.map(|(_, count)| count.number).sum::<u64>() > self.number() / 2
    }

    /// Returns the sum of the weights of each stack's samples, which is their number unless they
    /// [are weighted](Self::are_weighted). Names are ordered from the outermost one on, separated
    /// by `;`. With a grouping, stacks start with the process or thread.
    pub fn folded(&mut self, grouping: Grouping) -> BTreeMap<String, u64> {
        let mut symbols = std::mem::take(&mut self.symbols);
        let mut texts: HashMap<u32, String> = HashMap::new();
        let mut folded = BTreeMap::new();
        for ((koids, stack), count) in &self.counts {
            let text = texts.entry(*stack).or_insert_with(|| self.text(*stack, &mut symbols));
            let mut names = outer_frames(self.spans.catalog(), grouping, *koids);
            names.push(text.clone());
            let sum: &mut u64 = folded.entry(names.join(";")).or_default();
            *sum = sum.saturating_add(count.weight);
        }
        self.symbols = symbols;
        folded
    }

    /// Returns the frames of a stack, the outermost first.
    fn text(&self, stack: u32, symbols: &mut Symbols) -> String {
        let addresses = self.stacks.get(stack as usize).map(|stack| &**stack).unwrap_or_default();
        if addresses.is_empty() {
            return UNKNOWN.to_owned();
        }
        let mut names = Vec::new();
        for address in addresses.iter().rev() {
            match *address {
                Address::Code(CodeAddress { module, address }) => {
                    let Some(module) = self.images.module(module) else { continue };
                    let frames = symbols.frames(module, address);
                    names.extend(frames.iter().rev().map(|frame| frame_name(&frame.function)));
                    if frames.is_empty() {
                        names.push(frame_name(&unnamed(module, address)));
                    }
                }
                Address::Named(name) => names.push(frame_name(self.names.string(name))),
                // Following frame pointers beyond the outermost frame ends there.
                Address::Unknown(0) => {}
                Address::Unknown(address) => names.push(format!("{address:#x}")),
            }
        }
        match names.is_empty() {
            true => UNKNOWN.to_owned(),
            false => names.join(";"),
        }
    }
}

impl Count {
    fn add(&mut self, weight: u64) {
        self.number += 1;
        self.weight = self.weight.saturating_add(weight);
    }
}

impl Reading<'_> {
    fn record(&mut self, item: &Item<'_>) {
        self.objects.note(item);
        let spans: Vec<Span> = self.samples.spans.record(item).collect();
        spans.iter().for_each(|span| self.span(span));
        self.samples.images.note(item);
        self.samples.symbols.note(item);
        match &item.record {
            Record::Backtrace(backtrace) => self.backtrace(item, backtrace),
            Record::Event(event) => {
                self.weights.note(item, event);
            }
            _ => {}
        }
    }

    fn span(&mut self, span: &Span) {
        let catalog = self.samples.spans.catalog();
        let is_selected = |select: SelectScope<'_>| {
            select(catalog.category(span.label), catalog.name(span.label), span.nanos())
        };
        if self.select.is_some_and(is_selected) {
            self.scopes.add(span);
        }
    }

    fn backtrace(&mut self, item: &Item<'_>, backtrace: &Backtrace<'_>) {
        let (koids, nanos) = (item.thread(backtrace.thread), item.nanos(backtrace.ticks));
        let Samples { images, names, .. } = &mut self.samples;
        let places = images.places(&self.objects, item, backtrace);
        let stack = places.map(|place| match place {
            Place::Code(address) => Address::Code(address),
            Place::Named(name) => Address::Named(names.intern(name)),
            Place::Unknown(address) => Address::Unknown(address),
        });
        let stack = stack.collect();
        let stack = self.number_of(stack);
        let weight = self.weights.take(item, backtrace);
        match self.select {
            Some(_) => self.waiting.push((koids, nanos, stack, weight)),
            None => self.samples.counts.entry((koids, stack)).or_default().add(weight),
        }
    }

    fn number_of(&mut self, stack: Stack) -> u32 {
        if let Some(number) = self.numbers.get(&stack) {
            return *number;
        }
        let number = self.samples.stacks.len() as u32;
        self.samples.stacks.push(stack.clone());
        self.numbers.insert(stack, number);
        number
    }

    fn finish(mut self) -> Samples {
        let spans: Vec<Span> = self.samples.spans.finish().collect();
        spans.iter().for_each(|span| self.span(span));
        let Self { mut samples, mut scopes, waiting, .. } = self;
        scopes.sort();
        for (koids, nanos, stack, weight) in waiting {
            if scopes.contain(koids, nanos) {
                samples.counts.entry((koids, stack)).or_default().add(weight);
            }
        }
        samples
    }
}

#[cfg(test)]
mod tests;
