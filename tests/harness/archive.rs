//! An archive in a form for assertions. Reading fails on malformed data.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use trace_format::audit::Audit;
use trace_format::layout::ObjectType;
use trace_format::{EventKind, Item, Metadata, Reader, Record, TickRate, Value};

/// The content of an archive, by provider.
#[derive(Debug, Default)]
pub(crate) struct Archive {
    pub(crate) providers: Vec<Provider>,
}

/// The records of one provider.
#[derive(Debug, Default)]
pub(crate) struct Provider {
    pub(crate) id: u32,
    pub(crate) name: String,
    pub(crate) pid: u64,
    pub(crate) events: Vec<Event>,
    /// All names of each thread.
    pub(crate) thread_names: HashMap<u64, Vec<String>>,
    /// All names of the process.
    pub(crate) process_names: Vec<String>,
    /// The number of records that are neither events nor kernel objects, by kind.
    pub(crate) other_records: BTreeMap<&'static str, usize>,
    /// The processes of thread objects.
    pub(crate) thread_processes: Vec<u64>,
    /// Missing records by reason, as reported by events.
    pub(crate) lost: BTreeMap<String, u64>,
    /// The events that report losses.
    pub(crate) losses: Vec<Event>,
    /// Whether the format's own record reports a full buffer.
    pub(crate) buffer_full: bool,
    /// The rate of its ticks.
    pub(crate) rate: TickRate,
    /// Alerts that were raised but not sent, as reported by an event.
    pub(crate) unsent_alerts: u64,
    /// The times between its recordings, in ticks, as reported by events.
    pub(crate) interruptions: Vec<(u64, u64)>,
}

/// An event of the program; those of the tracing system itself are not listed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Event {
    pub(crate) shape: Shape,
    pub(crate) ticks: u64,
    pub(crate) process: u64,
    pub(crate) thread: u64,
    pub(crate) category: String,
    pub(crate) name: String,
    /// The arguments that are unsigned numbers.
    pub(crate) numbers: BTreeMap<String, u64>,
    /// The arguments that are texts.
    pub(crate) texts: BTreeMap<String, String>,
}

/// The kind of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    Begin,
    End,
    /// A duration, with its end.
    Complete(u64),
    Instant,
    /// An event with an id, like the following ones.
    AsyncBegin(u64),
    AsyncEnd(u64),
    FlowBegin(u64),
    FlowStep(u64),
    FlowEnd(u64),
    Other,
}

impl Archive {
    /// Reads an archive.
    ///
    /// # Panics
    /// If any record is malformed or unknown, or has an unresolved reference.
    #[track_caller]
    pub(crate) fn read(path: &Path) -> Self {
        let bytes = std::fs::read(path)
            .unwrap_or_else(|error| panic!("no archive {}: {error}", path.display()));
        Self::parse(&bytes)
    }

    /// Reads an archive from memory, like [`Archive::read`].
    #[track_caller]
    pub(crate) fn parse(bytes: &[u8]) -> Self {
        let mut reader = Reader::new(bytes);
        let mut archive = Self::default();
        let mut audit = Audit::default();
        while let Some(item) = reader.next().expect("the archive is well-formed") {
            audit.item(&item);
            archive.take(&item);
        }
        let stats = reader.stats();
        assert_eq!((stats.bad_records, stats.unknown_records), (0, 0));
        assert_eq!(audit, Audit::default());
        archive
    }

    /// Returns the only provider.
    #[track_caller]
    pub(crate) fn only(&self) -> &Provider {
        assert_eq!(self.providers.len(), 1, "{:?}", self.names());
        &self.providers[0]
    }

    /// Returns the first provider of this process.
    pub(crate) fn of_process(&self, pid: u64) -> Option<&Provider> {
        self.providers.iter().find(|provider| provider.pid == pid)
    }

    /// Returns the names and processes of the providers.
    pub(crate) fn names(&self) -> Vec<(&str, u64)> {
        self.providers.iter().map(|provider| (provider.name.as_str(), provider.pid)).collect()
    }

    fn provider(&mut self, id: u32) -> &mut Provider {
        let found = self.providers.iter().position(|provider| provider.id == id);
        let index = found.unwrap_or_else(|| {
            self.providers.push(Provider { id, ..Provider::default() });
            self.providers.len() - 1
        });
        &mut self.providers[index]
    }

    fn take(&mut self, item: &Item<'_>) {
        match &item.record {
            Record::Metadata(Metadata::ProviderInfo { id, name }) => {
                self.provider(*id).name =
                    String::from_utf8(name.to_vec()).expect("names are UTF-8");
            }
            Record::Metadata(Metadata::ProviderEvent { id, .. }) => {
                self.provider(*id).buffer_full = true
            }
            Record::Metadata(_) => {}
            _ => {
                let id = item.provider.id().expect("every record is a provider's");
                self.provider(id).take(item);
            }
        }
    }
}

impl Provider {
    fn take(&mut self, item: &Item<'_>) {
        match &item.record {
            Record::KernelObject(object) if object.object_type == ObjectType::PROCESS => {
                self.pid = object.koid;
                self.process_names.push(item.text(object.name).into_owned());
            }
            Record::KernelObject(object) if object.object_type == ObjectType::THREAD => {
                let names = self.thread_names.entry(object.koid).or_default();
                names.push(item.text(object.name).into_owned());
                let koids = object.arguments.iter().filter_map(|argument| match argument.value {
                    Value::Koid(koid) => Some(koid),
                    _ => None,
                });
                self.thread_processes.extend(koids);
            }
            Record::Blob(_) => self.count_other("blob"),
            Record::LargeBlob(_) => self.count_other("large blob"),
            Record::UserspaceObject(_) => self.count_other("userspace object"),
            Record::Log(_) => self.count_other("log"),
            Record::ContextSwitch(_) => self.count_other("context switch"),
            Record::Event(event) => {
                self.rate = item.provider.tick_rate();
                let event = read_event(item, event);
                match (event.category.as_str(), event.name.as_str()) {
                    ("trace", "records dropped") => {
                        let reason = event.texts["reason"].clone();
                        *self.lost.entry(reason).or_default() += event.numbers["number"];
                        self.losses.push(event);
                    }
                    ("trace", "alerts not sent") => self.unsent_alerts += event.numbers["number"],
                    ("trace", "recording interrupted") => {
                        self.interruptions.push((event.numbers["from"], event.numbers["to"]));
                    }
                    ("trace", _) => {}
                    _ => self.events.push(event),
                }
            }
            _ => {}
        }
    }

    fn count_other(&mut self, kind: &'static str) {
        *self.other_records.entry(kind).or_default() += 1;
    }

    /// Returns the number of missing records, as reported by events. The format's own record must
    /// agree.
    #[track_caller]
    pub(crate) fn lost(&self) -> u64 {
        let lost = self.lost.values().sum();
        assert_eq!(self.buffer_full, lost > 0, "event and provider event agree: {:?}", self.lost);
        lost
    }

    /// Returns the events with this name.
    pub(crate) fn named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Event> {
        self.events.iter().filter(move |event| event.name == name)
    }

    /// Returns the number of events with this name.
    pub(crate) fn count(&self, name: &str) -> usize {
        self.named(name).count()
    }

    /// Returns the argument `number` of the events with this name, in the archive's order. Ends of
    /// durations have no arguments.
    pub(crate) fn numbers(&self, name: &str) -> Vec<u64> {
        self.named(name).filter(|event| event.shape != Shape::End).map(Event::number).collect()
    }
}

impl Event {
    /// Returns the argument `number`.
    #[track_caller]
    pub(crate) fn number(&self) -> u64 {
        self.numbers["number"]
    }
}

fn read_event(item: &Item<'_>, event: &trace_format::Event<'_>) -> Event {
    let (mut numbers, mut texts) = (BTreeMap::new(), BTreeMap::new());
    for argument in &event.arguments {
        let name = item.text(argument.name).into_owned();
        match argument.value {
            Value::Uint32(number) => drop(numbers.insert(name, number.into())),
            Value::Uint64(number) => drop(numbers.insert(name, number)),
            Value::String(text) => drop(texts.insert(name, item.text(text).into_owned())),
            _ => {}
        }
    }
    let koids = item.thread(event.thread);
    Event {
        shape: match event.kind {
            EventKind::DurationBegin => Shape::Begin,
            EventKind::DurationEnd => Shape::End,
            EventKind::DurationComplete { end } => Shape::Complete(end),
            EventKind::Instant { .. } => Shape::Instant,
            EventKind::AsyncBegin { id } => Shape::AsyncBegin(id),
            EventKind::AsyncEnd { id } => Shape::AsyncEnd(id),
            EventKind::FlowBegin { id } => Shape::FlowBegin(id),
            EventKind::FlowStep { id } => Shape::FlowStep(id),
            EventKind::FlowEnd { id } => Shape::FlowEnd(id),
            _ => Shape::Other,
        },
        ticks: event.ticks,
        process: koids.process,
        thread: koids.thread,
        category: item.text(event.category).into_owned(),
        name: item.text(event.name).into_owned(),
        numbers,
        texts,
    }
}
