//! Sites: the static of each trace point, with its state and the header of its records.

use std::borrow::Cow;
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};

use trace_format::layout::{argument, event_header, EventType, StringRef};
use trace_protocol::buffer::producer::CHUNK_THREAD;
use trace_provider::{Durations, Turn};

use super::path::function_name;

/// The state of a trace point and the header of its records: the part of a site that the hot path
/// uses.
pub trait Switch {
    /// Returns the header of the records, or 0 while the trace point is off.
    fn header(&self) -> u64;
}

/// The static of a trace point.
///
/// The linker collects all sites of a program in one section, so that a session's start finds them
/// before they have run.
#[derive(Debug)]
#[repr(C)]
pub struct Site {
    /// 0 while the site is off, else the header of its records without size and number of
    /// arguments, and [`WATCHED`] if the durations of its scopes are compared.
    ///
    /// Rules: stored by the service thread while nothing is recorded, and by the thread that
    /// creates the site, before its first use. A trace point loads it twice: first to check whether
    /// it is on, and again once its slot is busy in a current epoch, when it cannot change.
    header: AtomicU64,
    category: &'static str,
    name: Name,
    keys: &'static [Key],
    event_type: Option<EventType>,
    /// Whether its durations are scopes, which end on the thread that began them.
    is_scope: bool,
}

/// In the word of a site that is on: the durations of its scopes are compared with conditions. The
/// bit of the name's ref that is set only for text in the record, which no site has.
pub(crate) const WATCHED: u64 = 1 << 63;

/// The name of a site.
#[derive(Clone, Copy, Debug)]
pub enum Name {
    /// A literal name. If it is empty, each event has its own name.
    Text(&'static str),
    /// The name of the function around the site, derived from the path of an item in the site.
    Path {
        /// The value of `module_path!()` at the site.
        module: &'static str,
        /// Returns the path of an item in the site: `core::any::type_name`.
        item: fn() -> &'static str,
    },
}

impl Name {
    pub(crate) fn text(self) -> Cow<'static, str> {
        match self {
            Name::Text(text) => Cow::Borrowed(text),
            Name::Path { module, item } => Cow::Owned(function_name(module, item())),
        }
    }
}

/// Returns the crate of a module: the first segment of a `module_path!()`.
pub const fn crate_name(module: &'static str) -> &'static str {
    let mut rest = module.as_bytes();
    let mut length = 0;
    while let [byte, behind @ ..] = rest {
        if *byte == b':' {
            break;
        }
        length += 1;
        rest = behind;
    }
    match core::str::from_utf8(module.as_bytes().split_at(length).0) {
        Ok(name) => name,
        Err(_) => module,
    }
}

/// The key of an argument of a site.
#[derive(Debug)]
pub struct Key {
    name: &'static str,
    /// The string ref in the current session. Rules: as for a site's header.
    reference: AtomicU16,
}

impl Key {
    /// Creates a key that is not registered.
    pub const fn new(name: &'static str) -> Self {
        Self { name, reference: AtomicU16::new(0) }
    }

    /// Returns the name field of an argument's header.
    #[inline(always)]
    pub(crate) fn bits(&self) -> u64 {
        argument::NameRef::make(u64::from(self.reference().bits()))
    }

    /// Returns the string ref.
    #[inline(always)]
    pub(crate) fn reference(&self) -> StringRef {
        StringRef::from_bits(self.reference.load(Ordering::Relaxed))
    }

    pub(crate) fn register(&self, reference: StringRef) {
        self.reference.store(reference.bits(), Ordering::Relaxed);
    }
}

impl Site {
    /// Creates the site of an event. If category or name is empty, each event has its own.
    pub const fn event(
        event_type: EventType,
        category: &'static str,
        name: Name,
        keys: &'static [Key],
    ) -> Self {
        Self {
            header: AtomicU64::new(0),
            category,
            name,
            keys,
            event_type: Some(event_type),
            is_scope: false,
        }
    }

    /// Creates the site of a scope. If category or name is empty, each scope has its own.
    pub const fn scope(category: &'static str, name: Name, keys: &'static [Key]) -> Self {
        Self { is_scope: true, ..Self::event(EventType::DurationBegin, category, name, keys) }
    }

    /// Creates a site that only checks a category: on while the category is recorded, or, if it is
    /// empty, while anything is recorded.
    pub const fn category_check(category: &'static str) -> Self {
        Self {
            header: AtomicU64::new(0),
            category,
            name: Name::Text(""),
            keys: &[],
            event_type: None,
            is_scope: false,
        }
    }

    /// Returns the header of this site's records, or 0 while the site is off.
    #[inline(always)]
    pub fn header(&self) -> u64 {
        self.header.load(Ordering::Relaxed)
    }

    /// Returns whether the site is on. Costs one load.
    #[inline(always)]
    pub fn is_on(&self) -> bool {
        self.header() != 0
    }

    pub(crate) fn keys(&self) -> &'static [Key] {
        self.keys
    }

    pub(crate) fn event_type(&self) -> Option<EventType> {
        self.event_type
    }
}

impl Turn for Site {
    fn category(&self) -> Cow<'_, str> {
        Cow::Borrowed(self.category)
    }

    fn durations(&self) -> Option<Durations<'_>> {
        let is_compared = match self.event_type? {
            EventType::DurationBegin => self.is_scope,
            EventType::DurationEnd | EventType::DurationComplete => false,
            // A task has the durations of its polls.
            EventType::AsyncBegin => false,
            _ => return None,
        };
        Some(Durations { name: self.name.text(), is_compared })
    }

    fn turn_on(
        &self,
        intern: &mut dyn FnMut(&str) -> Option<StringRef>,
        is_watched: bool,
    ) -> Option<()> {
        let (category, name) = (intern(self.category)?, intern(&self.name.text())?);
        for key in self.keys {
            key.register(intern(key.name)?);
        }
        let event_type = self.event_type.unwrap_or(EventType::Instant);
        let header = event_header(event_type, 0, 0, CHUNK_THREAD, category, name);
        let watched = if is_watched { WATCHED } else { 0 };
        self.header.store(header | watched, Ordering::Relaxed);
        Some(())
    }

    fn turn_off(&self) {
        self.header.store(0, Ordering::Relaxed);
    }

    fn for_each_text(&self, take: &mut dyn FnMut(&str)) {
        take(self.category);
        take(&self.name.text());
        self.keys.iter().for_each(|key| take(key.name));
    }
}

impl Switch for Site {
    #[inline(always)]
    fn header(&self) -> u64 {
        self.header()
    }
}

/// A category that the program declares, with a description.
#[derive(Debug)]
#[repr(C)]
pub struct Category {
    name: &'static str,
    description: &'static str,
}

impl Category {
    /// Creates a category with a description.
    pub const fn new(name: &'static str, description: &'static str) -> Self {
        Self { name, description }
    }

    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    pub(crate) fn description(&self) -> &'static str {
        self.description
    }
}

#[cfg(test)]
mod tests {
    use super::crate_name;

    #[test]
    fn a_crate_is_the_first_part_of_a_module_path() {
        const NAME: &str = crate_name(module_path!());
        assert_eq!(NAME, "trace_runtime");
        assert_eq!(crate_name("app"), "app");
        assert_eq!(crate_name("größe::é"), "größe");
        assert_eq!(crate_name(""), "");
    }
}
