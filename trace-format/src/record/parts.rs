//! The parts that records of several types have: arguments and times.

use super::{Arguments, EventKind, Record};

impl<'a> Record<'a> {
    /// Returns the arguments, none for records that cannot have any.
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

    /// Returns the arguments of a record that can have some.
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
    /// Returns the times of the record: of a complete event begin and end.
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
