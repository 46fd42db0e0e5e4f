//! The arguments of records, whatever their type.

use super::{Arguments, Record};

impl<'a> Record<'a> {
    /// Returns the arguments, none for records that cannot have any.
    #[must_use]
    pub fn arguments(&self) -> Arguments<'a> {
        let mut copy = *self;
        copy.arguments_mut().map_or(Arguments::NONE, |arguments| *arguments)
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
