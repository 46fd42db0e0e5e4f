//! Arguments and times, which several types of records have.

use super::{Arguments, EventKind, Record};

impl<'a> Record<'a> {
    /// Returns the arguments, empty for types of records without arguments.
    #[inline]
    #[must_use]
    pub fn arguments(&self) -> Arguments<'a> {
        match self {
            Self::Event(event) => event.arguments,
            Self::UserspaceObject(object) => object.arguments,
            Self::KernelObject(object) => object.arguments,
            Self::ContextSwitch(switch) => switch.arguments,
            Self::ThreadWakeup(wakeup) => wakeup.arguments,
            Self::LargeBlob(blob) => blob.event.map_or(Arguments::NONE, |event| event.arguments),
            _ => Arguments::NONE,
        }
    }

    /// Returns the arguments, or `None` for types of records without arguments.
    pub fn arguments_mut(&mut self) -> Option<&mut Arguments<'a>> {
        match self {
            Self::Event(event) => Some(&mut event.arguments),
            Self::UserspaceObject(object) => Some(&mut object.arguments),
            Self::KernelObject(object) => Some(&mut object.arguments),
            Self::ContextSwitch(switch) => Some(&mut switch.arguments),
            Self::ThreadWakeup(wakeup) => Some(&mut wakeup.arguments),
            Self::LargeBlob(blob) => blob.event.as_mut().map(|event| &mut event.arguments),
            _ => None,
        }
    }

    /// Returns the record's times in ticks: two for a complete duration, else at most one.
    pub fn times(&mut self) -> impl Iterator<Item = &mut u64> {
        let (first, second) = match self {
            Self::Event(event) => match &mut event.kind {
                EventKind::DurationComplete { end } => (Some(&mut event.ticks), Some(end)),
                _ => (Some(&mut event.ticks), None),
            },
            Self::LegacyContextSwitch(switch) => (Some(&mut switch.ticks), None),
            Self::ContextSwitch(switch) => (Some(&mut switch.ticks), None),
            Self::ThreadWakeup(wakeup) => (Some(&mut wakeup.ticks), None),
            Self::Log(log) => (Some(&mut log.ticks), None),
            Self::Module(module) => (Some(&mut module.ticks), None),
            Self::Mmap(mmap) => (Some(&mut mmap.ticks), None),
            Self::Backtrace(backtrace) => (Some(&mut backtrace.ticks), None),
            Self::LargeBlob(blob) => (blob.event.as_mut().map(|event| &mut event.ticks), None),
            _ => (None, None),
        };
        first.into_iter().chain(second)
    }
}
