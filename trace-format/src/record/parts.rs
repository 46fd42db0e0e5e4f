//! The arguments of records, whatever their type.

use super::{Arguments, Record};

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
    pub(crate) fn arguments_mut(&mut self) -> Option<&mut Arguments<'a>> {
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
}
