//! The objects that pointers and koids in arguments refer to.

use std::collections::HashMap;

use trace_format::layout::{cut_str, ObjectType};
use trace_format::{Item, Record, Value};

/// The most objects of each kind.
const MAX_OBJECTS: usize = 1 << 18;

/// The most bytes of a name. A small record can refer to a long name.
const MAX_NAME_BYTES: usize = 256;

/// The names of the objects in an archive so far.
///
/// A pointer is an object of its process, a koid one of the machine.
#[derive(Debug, Default)]
pub struct Objects {
    /// By process and pointer.
    userspace: HashMap<(u64, u64), Box<str>>,
    kernel: HashMap<u64, (ObjectType, Box<str>)>,
}

impl Objects {
    /// Adds the object of a record. It must get each record of the archive.
    #[inline]
    pub fn note(&mut self, item: &Item<'_>) {
        if let Record::UserspaceObject(_) | Record::KernelObject(_) = item.record {
            self.note_object(item);
        }
    }

    #[cold]
    fn note_object(&mut self, item: &Item<'_>) {
        match &item.record {
            Record::UserspaceObject(object) => {
                let key = (item.process(object.process), object.pointer);
                if self.userspace.len() < MAX_OBJECTS || self.userspace.contains_key(&key) {
                    self.userspace.insert(key, cut(&item.text(object.name)));
                }
            }
            Record::KernelObject(object)
                if self.kernel.len() < MAX_OBJECTS || self.kernel.contains_key(&object.koid) =>
            {
                let named = (object.object_type, cut(&item.text(object.name)));
                self.kernel.insert(object.koid, named);
            }
            _ => {}
        }
    }

    /// Returns the name of the object that a value of a record refers to.
    #[inline]
    pub fn name(&self, item: &Item<'_>, value: Value<'_>) -> Option<&str> {
        match value {
            Value::Pointer(pointer) if !self.userspace.is_empty() => {
                let name = self.userspace.get(&(process(item), pointer));
                name.map(|name| &**name)
            }
            Value::Koid(koid) => self.kernel.get(&koid).map(|(_, name)| &**name),
            _ => None,
        }
    }

    /// Returns whether a value of a record refers to an object that is neither process nor thread.
    #[inline]
    pub fn is_object(&self, item: &Item<'_>, value: Value<'_>) -> bool {
        let is_task = |koid| match self.kernel.get(&koid) {
            Some((kind, _)) => matches!(*kind, ObjectType::PROCESS | ObjectType::THREAD),
            None => true,
        };
        match value {
            Value::Pointer(_) => self.name(item, value).is_some(),
            Value::Koid(koid) => !is_task(koid),
            _ => false,
        }
    }
}

/// Returns the process of a record, or 0 if it has none.
fn process(item: &Item<'_>) -> u64 {
    match &item.record {
        Record::Event(event) => item.thread(event.thread).process,
        Record::UserspaceObject(object) => item.process(object.process),
        Record::Backtrace(backtrace) => item.thread(backtrace.thread).process,
        Record::LargeBlob(blob) => {
            blob.event.as_ref().map_or(0, |event| item.thread(event.thread).process)
        }
        _ => 0,
    }
}

fn cut(name: &str) -> Box<str> {
    cut_str(name, MAX_NAME_BYTES).into()
}
