//! Sites: the static of each trace point, with its state and the header of its records.

use std::borrow::Cow;
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};

use trace_format::layout::{argument, event_header, EventType, StringRef};
use trace_protocol::buffer::function::FunctionWord;
use trace_protocol::buffer::producer::CHUNK_THREAD;
use trace_provider::{Demands, Durations, Turn};

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
    /// arguments, and [`WATCHED`] if its durations are compared. A [`FunctionWord`] if its scopes
    /// have function records.
    ///
    /// Rules: stored by the service thread while nothing is recorded, and by the thread that
    /// creates the site, before its first use. A trace point loads it twice: first to check whether
    /// it is on, and again once its slot is busy in a current epoch, when it cannot change.
    header: AtomicU64,
    category: &'static str,
    name: Name,
    keys: &'static [Key],
    event_type: Option<EventType>,
    comparison: Comparison,
    /// Whether only [`begin_plain`](super::write::begin_plain) uses the site.
    is_function: bool,
}

/// In the word of a site that is on: its durations are compared with conditions. The bit of the
/// name's ref that is set only for text in the record, which no site has.
pub(crate) const WATCHED: u64 = 1 << 63;

/// The evaluation of conditions on the durations of a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    /// The program compares each one at its end: the guard or the future that ends it has its
    /// begin.
    AtEnd,
    /// The manager compares the records: begin and end have separate sites.
    OfRecords,
    /// None: they are polls, and the operation with their name is compared.
    Never,
}

/// The switch of a site whose records begin no scope. Its header is without [`WATCHED`], with which
/// the thread's next scopes would take the slower path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unscoped(pub(crate) &'static Site);

impl Switch for Unscoped {
    #[inline(always)]
    fn header(&self) -> u64 {
        self.0.header() & !WATCHED
    }
}

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
            comparison: Comparison::OfRecords,
            is_function: false,
        }
    }

    /// Creates the site of a scope. If category or name is empty, each scope has its own.
    pub const fn scope(category: &'static str, name: Name, keys: &'static [Key]) -> Self {
        let event = Self::event(EventType::DurationBegin, category, name, keys);
        Self { comparison: Comparison::AtEnd, ..event }
    }

    /// Creates the site of a scope without arguments, with constant category and name. Only
    /// [`begin_plain`](super::write::begin_plain) begins its scopes.
    pub const fn function(category: &'static str, name: Name, keys: &'static [Key]) -> Self {
        Self { is_function: true, ..Self::scope(category, name, keys) }
    }

    /// Creates the site of an operation whose end has the time of its begin. If category or name is
    /// empty, each operation has its own.
    pub const fn operation(category: &'static str, name: Name, keys: &'static [Key]) -> Self {
        let event = Self::event(EventType::AsyncBegin, category, name, keys);
        Self { comparison: Comparison::AtEnd, ..event }
    }

    /// Creates the site of the polls of an operation that has their category and name.
    pub(crate) const fn poll(category: &'static str, name: Name, keys: &'static [Key]) -> Self {
        let event = Self::event(EventType::DurationBegin, category, name, keys);
        Self { comparison: Comparison::Never, ..event }
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
            comparison: Comparison::Never,
            is_function: false,
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
        let has_durations = matches!(
            self.event_type?,
            EventType::DurationBegin
                | EventType::DurationEnd
                | EventType::DurationComplete
                | EventType::AsyncBegin
        );
        let is_compared = match self.comparison {
            Comparison::AtEnd => true,
            Comparison::OfRecords => false,
            Comparison::Never => return None,
        };
        has_durations.then(|| Durations { name: self.name.text(), is_compared })
    }

    fn turn_on(
        &self,
        intern: &mut dyn FnMut(&str) -> Option<StringRef>,
        demands: Demands,
    ) -> Option<()> {
        let (category, name) = (intern(self.category)?, intern(&self.name.text())?);
        for key in self.keys {
            key.register(intern(key.name)?);
        }
        let event_type = self.event_type.unwrap_or(EventType::Instant);
        let header = event_header(event_type, 0, 0, CHUNK_THREAD, category, name);
        let word = match () {
            () if demands.is_watched => header | WATCHED,
            () if demands.function_records && self.is_function => {
                FunctionWord::new(category, name).map_or(header, FunctionWord::bits)
            }
            () => header,
        };
        self.header.store(word, Ordering::Relaxed);
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
