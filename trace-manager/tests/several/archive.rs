//! Reads an archive.

use std::path::Path;

use trace_format::audit::Audit;
use trace_format::notes::INTERRUPTED;
use trace_format::record::{Record, Value};
use trace_format::Reader;

/// The numbers of the programs' events, and the manager's events.
#[derive(Debug, Default)]
pub(crate) struct Archive {
    /// Category and number, in the archive's order.
    events: Vec<(String, u64)>,
    /// The number of records.
    pub(crate) records: u64,
    /// Names of the events of category `trace`.
    pub(crate) notes: Vec<String>,
    /// The ticks of the programs' events, in the archive's order.
    pub(crate) ticks: Vec<u64>,
    /// The begin and the end of each interruption, in ticks.
    pub(crate) interruptions: Vec<(u64, u64)>,
}

impl Archive {
    /// Reads all records. Fails the test if one is malformed.
    pub(crate) fn open(path: &Path) -> Self {
        Self::read(std::fs::File::open(path).unwrap())
    }

    /// Reads all records of a stream. Fails the test if one is malformed.
    pub(crate) fn read(input: impl std::io::Read) -> Self {
        let mut reader = Reader::new(input);
        let (mut archive, mut audit) = (Self::default(), Audit::default());
        while let Some(item) = reader.next().unwrap() {
            audit.item(&item);
            archive.records += 1;
            let Record::Event(event) = &item.record else { continue };
            let (category, name) = (item.text(event.category), item.text(event.name));
            let values = event.arguments.iter().filter_map(|argument| match argument.value {
                Value::Uint64(number) => Some(number),
                _ => None,
            });
            match values.collect::<Vec<_>>()[..] {
                [number, ..] if category != "trace" => {
                    archive.events.push((category.into_owned(), number));
                    archive.ticks.push(event.ticks);
                    continue;
                }
                [from, to] if name == INTERRUPTED => archive.interruptions.push((from, to)),
                _ => {}
            }
            archive.notes.push(name.into_owned());
        }
        assert_eq!(audit, Audit::default());
        archive
    }

    /// Returns the numbers of a category's events, in order.
    pub(crate) fn numbers(&self, category: &str) -> Vec<u64> {
        let own = self.events.iter().filter(|(found, _)| found == category);
        own.map(|(_, number)| *number).collect()
    }

    /// Returns the categories, each once, in order.
    pub(crate) fn categories(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.events.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Returns whether the archive has a note.
    pub(crate) fn has_note(&self, name: &str) -> bool {
        self.notes.iter().any(|note| note == name)
    }
}
