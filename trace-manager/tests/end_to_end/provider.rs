//! A scripted provider, which writes its buffer by the rules of the layout.

use std::fs::File;
use std::io::ErrorKind;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::Path;

use trace_format::encode::append;
use trace_format::record::{Argument, Event, EventKind, Record, Text, Thread, Value};
use trace_format::ThreadKoids;
use trace_protocol::buffer::header::{directory_entry, field, loss_entry, Layout};
use trace_protocol::buffer::producer::LossReason;
use trace_protocol::message::{
    CategoryInfo, ClockSource, Decoder, Features, Register, StartOptions, ToManager, ToProvider,
};
use trace_protocol::packet::Packet;
use trace_protocol::socket::Socket;
use trace_protocol::words::as_bytes;

pub(crate) const CATEGORY: &str = "test";
pub(crate) const NAME: &str = "event";

pub(crate) struct Provider {
    pub(crate) control: Socket,
    decoder: Decoder<ToProvider>,
    fds: Vec<OwnedFd>,
}

pub(crate) struct Session {
    pub(crate) memory: File,
    pub(crate) packets: Socket,
    pub(crate) layout: Layout,
    pub(crate) categories: Vec<String>,
    durable_end: u64,
}

impl Provider {
    pub(crate) fn connect(path: &Path) -> Self {
        let control = Socket::connect(path).unwrap();
        Self { control, decoder: Decoder::new(), fds: Vec::new() }
    }

    /// Connects, registers and waits for the reply. Returns whether a session runs.
    pub(crate) fn register(path: &Path, name: &str) -> (Self, bool) {
        let provider = Self::connect(path);
        provider.send(&ToManager::Supports(Features::SET_CATEGORIES));
        provider.complete_registration(name)
    }

    /// Registers as a provider of the first version, which sends no features.
    pub(crate) fn register_first_version(path: &Path, name: &str) -> (Self, bool) {
        Self::connect(path).complete_registration(name)
    }

    fn complete_registration(mut self, name: &str) -> (Self, bool) {
        self.send(&ToManager::Register(Register {
            name: name.to_owned(),
            process_name: "tester".to_owned(),
            clock: ClockSource::CpuCounter,
            durable_hint: 1000,
            categories: vec![CategoryInfo {
                name: CATEGORY.to_owned(),
                description: "what tests record".to_owned(),
            }],
        }));
        match self.next() {
            Some(ToProvider::Registered { started }) => (self, started),
            other => panic!("expected an answer to the registration, found {other:?}"),
        }
    }

    pub(crate) fn send(&self, message: &ToManager) {
        self.send_bytes(&message.encode());
    }

    pub(crate) fn send_bytes(&self, bytes: &[u8]) {
        let mut rest = bytes;
        while !rest.is_empty() {
            match self.control.send(rest, &[]) {
                Ok(sent) => rest = &rest[sent..],
                Err(error) if error.kind() == ErrorKind::BrokenPipe => return,
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return,
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// Waits for the next message. Returns `None` if the manager has closed the connection.
    pub(crate) fn next(&mut self) -> Option<ToProvider> {
        loop {
            if let Some(message) = self.decoder.next_message() {
                return Some(message.unwrap());
            }
            let mut bytes = [0; 4096];
            match self.control.recv_with_fds(&mut bytes, &mut self.fds) {
                Ok(0) => return None,
                Ok(read) => self.decoder.feed(&bytes[..read]),
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return None,
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// Waits for Initialize, and maps the buffer.
    pub(crate) fn initialize(&mut self) -> Session {
        let Some(ToProvider::Initialize(terms)) = self.next() else {
            panic!("expected the terms of a session");
        };
        assert_eq!(self.fds.len(), 2);
        let packets = Socket::from(self.fds.pop().unwrap());
        let memory = File::from(self.fds.pop().unwrap());
        let mut header = [0; 72];
        memory.read_exact_at(&mut header, 0).unwrap();
        let words = header.chunks(8).map(|word| u64::from_le_bytes(word.try_into().unwrap()));
        let words: Vec<u64> = words.collect();
        let size = memory.metadata().unwrap().len() as usize;
        let layout = Layout::from_header(&words.try_into().unwrap(), size).unwrap();
        assert_eq!(layout.mode(), terms.mode);
        Session { memory, packets, layout, categories: terms.categories, durable_end: 0 }
    }

    /// Joins a session: waits for Initialize and Start, and sends STARTED.
    pub(crate) fn enter(&mut self) -> Session {
        let mut session = self.initialize();
        assert_eq!(self.next(), Some(ToProvider::Start(StartOptions::default())));
        session.strings();
        session.send(Packet::Started { version: 1 });
        session
    }

    /// Waits for other categories, and confirms them.
    pub(crate) fn change(&mut self, session: &Session) {
        let message = self.next();
        let Some(ToProvider::SetCategories { sequence, .. }) = message else {
            panic!("expected other categories, found {message:?}");
        };
        session.send(Packet::CategoriesSet { sequence });
    }

    /// Waits for Stop, and sends STOPPED.
    pub(crate) fn stop(&mut self, session: &Session) {
        assert_eq!(self.next(), Some(ToProvider::Stop));
        session.send(Packet::Stopped);
    }

    /// Waits for Stop, sends STOPPED, and leaves its buffer at Terminate, which the manager sends
    /// when all providers have stopped.
    pub(crate) fn leave(&mut self, session: Session) {
        self.stop(&session);
        assert_eq!(self.next(), Some(ToProvider::Terminate));
    }
}

impl Session {
    pub(crate) fn send(&self, packet: Packet) {
        self.packets.send(&packet.encode(), &[]).unwrap();
    }

    pub(crate) fn write(&self, words: &[u64], offset: usize) {
        self.memory.write_all_at(as_bytes(words), offset as u64).unwrap();
    }

    pub(crate) fn strings(&mut self) {
        let mut words = Vec::new();
        for (index, value) in [(1, CATEGORY), (2, NAME)] {
            append(&mut words, &Record::String { index, value: value.as_bytes() }).unwrap();
        }
        self.write(&words, self.layout.durable_offset());
        self.durable_end = words.len() as u64 * 8;
        self.write(&[self.durable_end], field::DURABLE_END * 8);
    }

    /// Appends records to the durable buffer.
    pub(crate) fn durable(&mut self, words: &[u64]) {
        self.write(words, self.layout.durable_offset() + self.durable_end as usize);
        self.durable_end += words.len() as u64 * 8;
        self.write(&[self.durable_end], field::DURABLE_END * 8);
    }

    fn directory(&self, wrapped_count: u32) -> usize {
        self.layout.rolling_offset(wrapped_count)
    }

    /// Returns the size of a directory in bytes: a word for each unit, rounded up to units.
    fn directory_size(&self) -> usize {
        let unit = self.layout.unit_size();
        (self.layout.rolling_size() / unit * 8).next_multiple_of(unit)
    }

    /// Returns the number of chunks of one unit in a rolling buffer.
    pub(crate) fn chunks(&self) -> usize {
        (self.layout.rolling_size() - self.directory_size()) / self.layout.unit_size()
    }

    /// Fills a chunk with events from this time on. Returns their number.
    pub(crate) fn chunk(&self, wrapped_count: u32, unit: usize, mut ticks: u64) -> u64 {
        let mut words = Vec::new();
        let pid = u64::from(std::process::id());
        let koids = ThreadKoids::new(pid, pid + 1);
        append(&mut words, &Record::Thread { index: 1, koids }).unwrap();
        let room = self.layout.unit_size() / 8;
        let mut events = 0;
        while words.len() + 2 <= room {
            append(&mut words, &event(ticks)).unwrap();
            ticks += 1;
            events += 1;
        }
        self.place_chunk(wrapped_count, unit, words);
        events
    }

    fn place_chunk(&self, wrapped_count: u32, unit: usize, mut words: Vec<u64>) {
        words.resize(self.layout.unit_size() / 8, 0);
        let directory = self.directory(wrapped_count);
        self.write(&words, directory + self.directory_size() + unit * self.layout.unit_size());
        self.write(&[directory_entry(wrapped_count, 1)], directory + unit * 8);
    }

    /// Fills a rolling buffer with events. Returns their number.
    pub(crate) fn fill(&self, wrapped_count: u32, ticks: u64) -> u64 {
        let mut events = 0;
        for unit in 0..self.chunks() {
            events += self.chunk(wrapped_count, unit, ticks + events);
        }
        events
    }

    /// Appends the strings of reports of losses to the durable buffer.
    pub(crate) fn loss_strings(&mut self) {
        let mut words = Vec::new();
        let reason = LossReason::ALL[0].as_str();
        let texts = ["trace", "records dropped", "reason", "number", "from", "to", reason];
        for (text, index) in texts.into_iter().zip(3..) {
            append(&mut words, &Record::String { index, value: text.as_bytes() }).unwrap();
        }
        self.durable(&words);
    }

    /// Fills a chunk with a report of losses of this thread, as of a full buffer.
    pub(crate) fn report_losses(&self, wrapped_count: u32, unit: usize, thread: u64, number: u64) {
        let ticks = trace_protocol::counter::read().unwrap();
        let numbers = [number, 1, ticks].map(Value::Uint64);
        let values = [Value::String(Text::Indexed(9))].into_iter().chain(numbers);
        let argument = |(value, index)| Argument { name: Text::Indexed(index), value };
        let arguments: Vec<_> = values.zip(5..).map(argument).collect();
        let event = Event {
            ticks,
            thread: Thread::Inline(ThreadKoids::new(u64::from(std::process::id()), thread)),
            category: Text::Indexed(3),
            name: Text::Indexed(4),
            kind: EventKind::Instant { scope: None },
            arguments: (&*arguments).into(),
        };
        let mut words = Vec::new();
        append(&mut words, &event.into()).unwrap();
        self.place_chunk(wrapped_count, unit, words);
    }

    /// Writes an entry of the loss table: an id of reason and thread, the number of records, and
    /// the times of the first and the last.
    pub(crate) fn lose(&self, index: usize, id: u64, number: u64, from: u64, to: u64) {
        self.lose_reported(index, id, (number, 0), from, to);
    }

    /// As [`lose`](Self::lose), of losses of which events report some.
    pub(crate) fn lose_reported(
        &self,
        index: usize,
        id: u64,
        (number, reported): (u64, u64),
        from: u64,
        to: u64,
    ) {
        let entry = [id, number, from, to, reported, from];
        self.write(&entry, self.layout.losses_offset() + index * loss_entry::WORDS * 8);
    }

    /// Sends SAVE_BUFFER and waits for the reply.
    pub(crate) fn save(&self, wrapped_count: u32) {
        let durable_data_end = self.durable_end;
        self.send(Packet::SaveBuffer { wrapped_count, durable_data_end });
        let mut bytes = [0; 16];
        assert_eq!(self.packets.recv(&mut bytes).unwrap(), 16);
        let saved = Packet::BufferSaved { wrapped_count, durable_data_end };
        assert_eq!(Packet::decode(&bytes), Ok(saved));
    }
}

fn event(ticks: u64) -> Record<'static> {
    let event = Event {
        ticks,
        thread: Thread::Indexed(1),
        category: Text::Indexed(1),
        name: Text::Indexed(2),
        kind: EventKind::Instant { scope: None },
        arguments: trace_format::record::Arguments::NONE,
    };
    event.into()
}
