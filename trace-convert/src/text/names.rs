//! The names of what records refer to.

use std::fmt::Write;

use trace_analyze::objects::Objects;
use trace_format::{Backtrace, Item, Value};
use trace_symbols::Frame;

use crate::images::{CodeAddress, Images, Place};
use crate::symbols::Symbols;

/// The names of objects and functions in an archive so far.
#[derive(Debug)]
pub struct Names {
    objects: Objects,
    images: Images,
    symbols: Symbols,
}

impl Default for Names {
    fn default() -> Self {
        let (objects, images) = (Objects::default(), Images::default());
        Self { objects, images, symbols: Symbols::of_archive() }
    }
}

impl Names {
    /// Adds the names of a record. It must get each record of the archive.
    pub fn note(&mut self, item: &Item<'_>) {
        self.objects.note(item);
        self.images.note(item);
        self.symbols.note(item);
    }

    /// Returns the name of the object that a value of a record refers to.
    pub(super) fn of_object(&self, item: &Item<'_>, value: Value<'_>) -> Option<&str> {
        self.objects.name(item, value)
    }

    /// Returns the addresses of a backtrace that have names, with these in quotes.
    pub(super) fn of_frames(
        &mut self,
        item: &Item<'_>,
        backtrace: &Backtrace<'_>,
    ) -> Vec<(u64, String)> {
        let Self { objects, images, symbols } = self;
        let places = images.places(objects, item, backtrace);
        let named = backtrace.frames.iter().zip(places).filter_map(|(address, place)| {
            let name = match place {
                Place::Named(name) => Some(format!("{name:?}")),
                Place::Code(CodeAddress { module, address }) => {
                    images.module(module).and_then(|it| inlined(&symbols.frames(it, address)))
                }
                Place::Unknown(_) => None,
            };
            Some((address, name?))
        });
        named.collect()
    }
}

/// Returns the functions at an address, innermost first, with the places in their sources.
fn inlined(frames: &[Frame]) -> Option<String> {
    let mut text = String::new();
    for Frame { function, file, line, .. } in frames {
        let before = if text.is_empty() { "" } else { " in " };
        // Writing to a string cannot fail.
        let _ = write!(text, "{before}{function:?}");
        if let Some(file) = file {
            let line = line.map(|line| format!(":{line}")).unwrap_or_default();
            let _ = write!(text, " ({}{line})", file.escape_debug());
        }
    }
    Some(text).filter(|text| !text.is_empty())
}
