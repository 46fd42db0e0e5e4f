//! A live stream of a session's records to a pipe or a socket.
//!
//! The event loop never waits for the reader. Blocks wait in a bounded queue for a thread that
//! writes them. If the queue is full, events are dropped and counted; names and strings stay, so
//! that the stream can be decoded. An event *records dropped* follows when the queue has space.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{poll, PollFd, PollFlags};
use trace_protocol::archive::{self, ClockSample, Identity, Loss};
use trace_protocol::words::as_bytes;

use crate::category_filter::ticks_of;
use crate::output::stream;
use crate::records::{Records, Spares, Words, SECTION};
use crate::retention::{is_metadata, is_thread, split_records};

/// Bytes that wait for the reader. Events beyond them are dropped.
pub(crate) const LIMIT: usize = 16 << 20;

/// Bytes of names and strings that wait beside them. Beyond, the stream ends.
const METADATA_LIMIT: usize = 64 << 20;

/// How often a thread without work checks whether the reader has ended.
const CHECK_INTERVAL: Duration = Duration::from_millis(200);

/// The time without progress after which a stream ends whose session has ended.
const PATIENCE: Duration = Duration::from_secs(5);

/// The reason of events that are dropped here.
pub(crate) const REASON: &str = "the reader of the stream is slow";

/// The event loop's end of a stream.
#[derive(Debug)]
pub(crate) struct Follower {
    queue: Arc<Queue>,
    spares: Spares,
    identities: BTreeMap<u32, Identity>,
    /// Dropped records that no event reports yet, by provider.
    dropped: BTreeMap<u32, Loss>,
    /// The provider whose records were queued last.
    last_section: Option<u32>,
    metadata_limit: usize,
    /// Set if a name was dropped. Later records could not be decoded.
    is_closed: bool,
}

/// A live stream that counts against the limit of a user.
#[derive(Debug)]
pub(crate) struct StreamLease;

#[derive(Debug)]
struct Queue {
    state: Mutex<State>,
    changed: Condvar,
    limit: usize,
    /// The time without progress after which the stream ends, once it is closed.
    patience: Duration,
    /// Set when the reader is gone, or does not read the end of the stream.
    has_ended: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    /// Words, and the index of the first one to write.
    blocks: VecDeque<(Words, usize)>,
    bytes: usize,
    is_closed: bool,
}

impl Follower {
    /// Starts a stream to `output`, which must not block. Drops `lease` when the stream ends.
    pub(crate) fn start(output: OwnedFd, lease: Option<Arc<StreamLease>>) -> io::Result<Self> {
        Self::with_queue(output, Queue::new(LIMIT, PATIENCE), lease)
    }

    fn with_queue(
        output: OwnedFd,
        queue: Queue,
        lease: Option<Arc<StreamLease>>,
    ) -> io::Result<Self> {
        let queue = Arc::new(queue);
        let (output, writing) = (File::from(output), Arc::clone(&queue));
        let builder = thread::Builder::new().name("trace-follow".to_owned());
        builder.spawn(move || {
            // Fails if the reader is gone or does not read.
            let _ended = writing.write(&output);
            // Closing it may wait, and then the stream still counts.
            drop(output);
            drop(lease);
            writing.has_ended.store(true, Ordering::Release);
        })?;
        let mut follower = Self {
            queue,
            spares: Spares::default(),
            identities: BTreeMap::new(),
            dropped: BTreeMap::new(),
            last_section: None,
            metadata_limit: METADATA_LIMIT,
            is_closed: false,
        };
        let mut words = Vec::new();
        archive::magic(&mut words);
        follower.push(words);
        Ok(follower)
    }

    /// Returns whether the stream has no reader.
    pub(crate) fn has_ended(&self) -> bool {
        self.queue.has_ended.load(Ordering::Acquire)
    }

    /// Adds a provider. Its records follow.
    pub(crate) fn open(&mut self, identity: &Identity, rate: u64, now: &ClockSample) {
        if self.is_closed {
            return;
        }
        let mut words = self.spares.take();
        archive::opening(&mut words, identity, rate, now);
        self.identities.insert(identity.id, identity.clone());
        self.last_section = Some(identity.id);
        self.push(words);
    }

    /// Adds records of a provider, or counts them if the queue is full.
    ///
    /// The last records of a provider that left before the stream began are ignored. The stream
    /// has neither its opening nor its names.
    pub(crate) fn take(&mut self, records: &Records) {
        let is_open = self.identities.contains_key(&records.provider());
        if !is_open || self.is_closed || self.has_ended() || records.words().is_empty() {
            return;
        }
        match self.queue.has_space(records.words().len() * 8) {
            true => {
                self.report_losses(records.provider());
                let start = self.first_word(records.provider());
                self.queue.push(records.words.clone(), start);
            }
            false => self.drop_events(records),
        }
        if records.is_last() {
            self.report_losses(records.provider());
            self.identities.remove(&records.provider());
        }
    }

    /// Queues the names and strings of a block, and counts its other records.
    fn drop_events(&mut self, records: &Records) {
        let mut kept = records.words.get(..SECTION).unwrap_or_default().to_vec();
        for record in split_records(&records.words) {
            match is_metadata(record) {
                true => kept.extend_from_slice(record),
                false => self.count(records.provider(), record),
            }
        }
        if kept.len() == SECTION {
            return;
        }
        if self.queue.lock().bytes > self.queue.limit + self.metadata_limit {
            return self.close();
        }
        let start = self.first_word(records.provider());
        let words = self.spares.share(kept);
        self.queue.push(words, start);
    }

    /// Counts a dropped record. The thread of a chunk is not a record of the program.
    fn count(&mut self, provider: u32, words: &[u64]) {
        if is_thread(words) {
            return;
        }
        let unknown = Loss { thread: None, number: 0, from: 0, to: 0 };
        let loss = self.dropped.entry(provider).or_insert(unknown);
        loss.number += 1;
        if let Some(at) = ticks_of(words) {
            // The window begins at the first time. A record without a time may precede it.
            loss.from = if loss.to == 0 { at } else { loss.from.min(at) };
            loss.to = loss.to.max(at);
        }
    }

    fn report_losses(&mut self, provider: u32) {
        let Some(loss) = self.dropped.remove(&provider) else { return };
        let Some(identity) = self.identities.get(&provider) else { return };
        let mut words = Records::begin(&self.spares, provider);
        archive::loss(&mut words, identity, REASON, loss);
        let start = self.first_word(provider);
        let words = self.spares.share(words);
        self.queue.push(words, start);
    }

    /// Returns the index of the first word to write. The section record is left out if the last
    /// records are of the same provider.
    fn first_word(&mut self, provider: u32) -> usize {
        match self.last_section.replace(provider) == Some(provider) {
            true => SECTION,
            false => 0,
        }
    }

    fn push(&mut self, words: Vec<u64>) {
        let words = self.spares.share(words);
        self.queue.push(words, 0);
    }

    /// Ends the stream. The thread writes the queued records, and the losses so far.
    fn close(&mut self) {
        let providers: Vec<u32> = self.dropped.keys().copied().collect();
        providers.into_iter().for_each(|provider| self.report_losses(provider));
        self.is_closed = true;
        self.queue.close();
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.close();
    }
}

impl Queue {
    fn new(limit: usize, patience: Duration) -> Self {
        Self {
            state: Mutex::default(),
            changed: Condvar::new(),
            limit,
            patience,
            has_ended: AtomicBool::new(false),
        }
    }

    fn has_space(&self, bytes: usize) -> bool {
        let waiting = self.lock().bytes;
        // A single block of any size is accepted.
        waiting == 0 || waiting + bytes <= self.limit
    }

    fn push(&self, words: Words, start: usize) {
        let mut state = self.lock();
        state.bytes += words.len() * 8;
        state.blocks.push_back((words, start));
        drop(state);
        self.changed.notify_one();
    }

    fn close(&self) {
        self.lock().is_closed = true;
        self.changed.notify_one();
    }

    /// Writes all blocks, until the queue is closed.
    fn write(&self, output: &File) -> io::Result<()> {
        loop {
            let mut state = self.lock();
            if let Some((words, start)) = state.blocks.pop_front() {
                drop(state);
                self.write_all(output, as_bytes(words.get(start..).unwrap_or_default()))?;
                self.lock().bytes -= words.len() * 8;
            } else if state.is_closed {
                return Ok(());
            } else {
                let waited = self.changed.wait_timeout(state, CHECK_INTERVAL);
                drop(waited.unwrap_or_else(PoisonError::into_inner));
                check_reader(output)?;
            }
        }
    }

    fn write_all(&self, output: &File, mut bytes: &[u8]) -> io::Result<()> {
        let mut progress = Instant::now();
        while !bytes.is_empty() {
            match stream::write_some(output, bytes) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => {
                    bytes = bytes.get(written..).unwrap_or_default();
                    progress = Instant::now();
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let is_over = self.lock().is_closed && progress.elapsed() >= self.patience;
                    if !stream::wait_writable(output, CHECK_INTERVAL)? && is_over {
                        return Err(stream::unread());
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Fails if the reader has closed its end.
fn check_reader(output: &File) -> io::Result<()> {
    let mut ends = [PollFd::new(output, PollFlags::empty())];
    match poll(&mut ends, 0) {
        Ok(1..) => Err(io::ErrorKind::BrokenPipe.into()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::net::UnixStream;

    use trace_format::layout::{record, RecordType};
    use trace_format::{Reader, Record};

    use super::*;
    use crate::fixture::{event, identity};

    /// Returns a block of events, with a string record in front if `string` is set.
    fn block(events: u64, string: Option<u16>) -> Records {
        let spares = Spares::default();
        let mut words = Records::begin(&spares, identity().id);
        if let Some(index) = string {
            let record = Record::String { index, value: b"name" };
            trace_format::encode::append(&mut words, &record).unwrap();
        }
        for ticks in 0..events {
            trace_format::encode::append(&mut words, &event(100 + ticks)).unwrap();
        }
        let (provider, words) = (identity().id, spares.share(words));
        Records { provider, words, slots: vec![], reported: 0, is_copy: true, is_last: false }
    }

    /// Reads a stream to its end. Returns the numbers of events, strings, and reported losses.
    fn read(mut stream: UnixStream) -> (u64, u64, Vec<u64>) {
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        counts(&bytes)
    }

    fn counts(bytes: &[u8]) -> (u64, u64, Vec<u64>) {
        let mut reader = Reader::new(bytes);
        let (mut events, mut strings, mut losses) = (0, 0, Vec::new());
        while let Some(item) = reader.next().unwrap() {
            match &item.record {
                Record::String { .. } => strings += 1,
                Record::Event(event) if &*item.text(event.name) == "records dropped" => {
                    let number = event.arguments.iter().nth(1).unwrap().value;
                    let trace_format::Value::Uint64(number) = number else { panic!("{number:?}") };
                    losses.push(number);
                }
                Record::Event(event) if &*item.text(event.category) == "test" => events += 1,
                _ => {}
            }
        }
        (events, strings, losses)
    }

    fn follower(limit: usize) -> (Follower, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let queue = Queue::new(limit, PATIENCE);
        let mut follower = Follower::with_queue(ours.into(), queue, None).unwrap();
        follower.open(&identity(), 1, &ClockSample::now());
        (follower, theirs)
    }

    #[test]
    fn a_stream_has_all_records_if_it_is_read() {
        let (mut follower, stream) = follower(LIMIT);
        (1..=50).for_each(|index| follower.take(&block(100, Some(index))));
        drop(follower);
        assert_eq!(read(stream), (5000, 50, vec![]));
    }

    #[test]
    fn the_blocks_that_wait_have_a_limit() {
        let events = block(1000, None);
        let block_bytes = events.words().len() * 8;
        let (mut follower, _stream) = follower(block_bytes * 5 / 2);
        // More than the socket takes.
        while follower.dropped.is_empty() {
            follower.take(&events);
            // Reports of losses have less than a kilobyte.
            let waiting = follower.queue.lock().bytes;
            assert!(waiting < 2 * block_bytes + 1024, "{waiting} bytes");
        }
    }

    #[test]
    fn a_slow_reader_loses_events_but_no_names() {
        let (mut follower, stream) = follower(64 << 10);
        // More than the queue and the socket take.
        (1..=100).for_each(|index| follower.take(&block(1000, Some(index))));
        drop(follower);
        let (events, strings, losses) = read(stream);
        assert_eq!((events + losses.iter().sum::<u64>(), strings), (100_000, 100));
        assert!(events > 0 && !losses.is_empty(), "{events} {losses:?}");
    }

    /// A later name must not be streamed, because the strings before it are missing.
    #[test]
    fn a_stream_ends_if_too_many_names_wait() {
        let (mut follower, mut stream) = follower(64 << 10);
        follower.metadata_limit = 64 << 10;
        // More events than the queue and the socket take, and more names than the queue takes.
        (0..20).for_each(|_| follower.take(&block(1000, None)));
        (1..=5000).for_each(|index| follower.take(&block(1, Some(index))));
        let mut bytes = vec![0; 4096];
        stream.read_exact(&mut bytes).unwrap();
        while !follower.queue.has_space(4096) {
            let mut block = [0; 4096];
            stream.read_exact(&mut block).unwrap();
            bytes.extend(block);
        }
        follower.take(&block(10, Some(5001)));
        drop(follower);
        stream.read_to_end(&mut bytes).unwrap();
        let (events, strings, losses) = counts(&bytes);
        assert!(events > 0 && strings < 5000, "{events} {strings}");
        assert!(!losses.is_empty(), "the losses before the end are reported");
        let mut reader = Reader::new(bytes.as_slice());
        while let Some(item) = reader.next().unwrap() {
            assert!(!matches!(item.record, Record::String { index: 5001, .. }));
        }
    }

    #[test]
    fn records_of_an_unknown_provider_are_not_streamed() {
        let (mut follower, stream) = follower(LIMIT);
        follower.take(&Records { provider: identity().id + 1, ..block(100, Some(1)) });
        follower.take(&Records { is_last: true, ..block(10, None) });
        follower.take(&block(100, None));
        drop(follower);
        assert_eq!(read(stream), (10, 0, vec![]));
    }

    #[test]
    fn a_loss_has_the_times_of_timed_records() {
        let (mut follower, _stream) = follower(LIMIT);
        let header = |kind: RecordType| record::Type::make(kind.bits());
        let untimed = header(RecordType::UserspaceObject);
        follower.count(1, &[untimed, 5]);
        let window = |follower: &Follower| {
            let loss = &follower.dropped[&1];
            (loss.number, loss.from, loss.to)
        };
        assert_eq!(window(&follower), (1, 0, 0));
        follower.count(1, &[header(RecordType::Scheduling), 70, 0]);
        follower.count(1, &[header(RecordType::Log), 50, 0]);
        follower.count(1, &[header(RecordType::Event), 60]);
        follower.count(1, &[untimed, 5]);
        assert_eq!(window(&follower), (5, 50, 70));
    }

    /// The session has ended, and the reader stops in the middle.
    #[test]
    fn a_stream_ends_if_its_rest_is_not_read() {
        let (ours, mut stream) = UnixStream::pair().unwrap();
        let queue = Queue::new(LIMIT, Duration::ZERO);
        let mut follower = Follower::with_queue(ours.into(), queue, None).unwrap();
        follower.open(&identity(), 1, &ClockSample::now());
        let mut sent = 0;
        // The socket takes less.
        while follower.queue.lock().bytes < 1 << 20 {
            let block = block(1000, None);
            sent += block.words().len() * 8;
            follower.take(&block);
        }
        let queue = Arc::clone(&follower.queue);
        drop(follower);
        let deadline = Instant::now() + Duration::from_secs(20);
        while !queue.has_ended.load(Ordering::Acquire) {
            assert!(Instant::now() < deadline, "the thread does not end");
            thread::sleep(Duration::from_millis(1));
        }
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        assert!(!bytes.is_empty() && bytes.len() < sent, "{} of {sent}", bytes.len());
    }

    #[test]
    fn a_stream_ends_with_its_reader() {
        let (ours, stream) = UnixStream::pair().unwrap();
        let lease = Arc::new(StreamLease);
        let leased = Arc::downgrade(&lease);
        let follower = Follower::start(ours.into(), Some(lease)).unwrap();
        assert_eq!(leased.strong_count(), 1);
        drop(stream);
        let deadline = Instant::now() + Duration::from_secs(20);
        while !follower.has_ended() || leased.strong_count() != 0 {
            assert!(Instant::now() < deadline, "the thread does not end");
            thread::sleep(Duration::from_millis(1));
        }
    }
}
