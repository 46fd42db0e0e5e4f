//! Reads an archive.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use trace_format::audit::Audit;
use trace_format::record::{Metadata, Record, Value};
use trace_format::Reader;

/// The contents of an archive.
#[derive(Debug, Default)]
pub(crate) struct Archive {
    /// Ticks per second by provider name.
    pub(crate) rates: BTreeMap<String, u64>,
    /// The times of the tests' events by provider name, in the archive's order.
    pub(crate) events: BTreeMap<String, Vec<u64>>,
    /// The manager's events: name, and arguments that are numbers or texts.
    pub(crate) of_manager: Vec<(String, BTreeMap<String, String>)>,
    pub(crate) processes: Vec<(u64, String, BTreeMap<String, String>)>,
    pub(crate) provider_events: usize,
}

impl Archive {
    pub(crate) fn open(path: &Path) -> Self {
        Self::read(std::fs::File::open(path).unwrap())
    }

    /// Reads all records. Fails the test if one is malformed.
    pub(crate) fn read(input: impl Read) -> Self {
        let mut reader = Reader::new(input);
        let mut archive = Self::default();
        let mut audit = Audit::default();
        while let Some(item) = reader.next().unwrap() {
            audit.item(&item);
            let provider = item.provider.name().to_owned();
            let arguments = |arguments: trace_format::record::Arguments<'_>| {
                let one = arguments.iter().map(|argument| {
                    let value = match argument.value {
                        Value::String(text) => item.text(text).into_owned(),
                        Value::Uint32(value) => value.to_string(),
                        Value::Uint64(value) => value.to_string(),
                        other => format!("{other:?}"),
                    };
                    (item.text(argument.name).into_owned(), value)
                });
                one.collect::<BTreeMap<String, String>>()
            };
            match item.record {
                Record::Initialization { ticks_per_second } => {
                    archive.rates.insert(provider, ticks_per_second);
                }
                Record::Event(event) => match &*item.text(event.category) {
                    "trace" => {
                        let name = item.text(event.name).into_owned();
                        archive.of_manager.push((name, arguments(event.arguments)));
                    }
                    category => {
                        // Random bytes of a hostile provider can be a well-formed event.
                        let known = [super::provider::CATEGORY, super::sinks::OTHER];
                        let own = known.contains(&category)
                            && item.text(event.name) == super::provider::NAME;
                        assert!(provider == "bad" || own);
                        assert_eq!(item.thread(event.thread).process, std::process::id().into());
                        archive.events.entry(provider).or_default().push(event.ticks);
                    }
                },
                Record::KernelObject(object) => {
                    let name = item.text(object.name).into_owned();
                    archive.processes.push((object.koid, name, arguments(object.arguments)));
                }
                Record::Metadata(Metadata::ProviderEvent { .. }) => archive.provider_events += 1,
                _ => {}
            }
        }
        assert_eq!(audit, Audit::default());
        archive
    }

    pub(crate) fn events_of(&self, provider: &str) -> &[u64] {
        self.events.get(provider).map_or(&[], Vec::as_slice)
    }

    /// Returns the manager's events of this name.
    pub(crate) fn named(&self, name: &str) -> Vec<&BTreeMap<String, String>> {
        let of_name = self.of_manager.iter().filter(|(found, _)| found == name);
        of_name.map(|(_, arguments)| arguments).collect()
    }
}
