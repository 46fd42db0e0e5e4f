//! Packets of buffers as packets of threads.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};

use trace_kernel::perf_data::AuxQueue;

use super::mapped::MappedCode;
use super::stream::Stream;
use super::timeline::{Task, Timeline};
use super::{ImportError, Imported};
use crate::pt::{ExecMode, Ip, Packet, PacketClock, PacketDecoder, PacketError, Timing};
use crate::recording::{Note, SpaceId, TraceId, Writer};

/// The number of bytes of a thread that are written at a time.
const WRITE_BYTES: u64 = 1 << 20;

/// The number of packets after which bytes of threads are written, also if tracing stays on.
const WRITE_PACKETS: usize = 1 << 16;

/// The number of bytes of a buffer that are read at a time.
const PIECE_BYTES: u64 = 1 << 16;

/// Divides packets among threads.
pub(super) struct Router<'a> {
    timeline: &'a Timeline,
    timing: Timing,
    writer: &'a mut Writer,
    streams: BTreeMap<Task, Stream>,
    code: MappedCode,
    imported: Imported,
}

/// A buffer that is read.
struct Source<R> {
    input: Input,
    packets: R,
    decoder: PacketDecoder,
    /// The next packet, which turns tracing on.
    waiting: Option<Packet>,
    is_ended: bool,
}

impl<R: Read> Source<R> {
    fn new(queue: AuxQueue, timing: Timing, packets: R) -> Self {
        let input = Input {
            queue,
            clock: PacketClock::new(timing),
            last_ip: 0,
            mode: ExecMode::LONG,
            task: None,
            boundary: None,
            overflow: None,
        };
        Self { input, packets, decoder: PacketDecoder::new(), waiting: None, is_ended: false }
    }

    fn next(&mut self) -> io::Result<Option<Result<Packet, PacketError>>> {
        loop {
            if let Some(found) = self.decoder.next_packet() {
                return Ok(Some(found.map(|found| found.packet)));
            }
            if self.is_ended {
                return Ok(None);
            }
            let mut piece = Vec::new();
            self.packets.by_ref().take(PIECE_BYTES).read_to_end(&mut piece)?;
            self.decoder.push(&piece);
            if piece.is_empty() {
                self.decoder.end();
                self.is_ended = true;
            }
        }
    }
}

/// The state of a buffer.
struct Input {
    queue: AuxQueue,
    clock: PacketClock,
    last_ip: u64,
    mode: ExecMode,
    /// The thread while tracing is on.
    task: Option<Task>,
    /// In PSB+, with its FUP.
    boundary: Option<Option<u64>>,
    /// Behind OVF, with the thread before it.
    overflow: Option<Option<Task>>,
}

impl<'a> Router<'a> {
    pub(super) fn new(timeline: &'a Timeline, timing: Timing, writer: &'a mut Writer) -> Self {
        let (code, imported) = (MappedCode::new(), Imported::default());
        Self { timeline, timing, writer, streams: BTreeMap::new(), code, imported }
    }

    /// Divides the packets of all buffers, in the order of the times at which tracing was turned
    /// on: a thread may have been on several CPUs.
    pub(super) fn route<R: Read>(
        &mut self,
        buffers: Vec<(AuxQueue, R)>,
    ) -> Result<(), ImportError> {
        let source = |(queue, packets)| Source::new(queue, self.timing, packets);
        let mut sources: Vec<_> = buffers.into_iter().map(source).collect();
        for source in &mut sources {
            self.advance(source)?;
        }
        loop {
            let waiting = sources.iter_mut().filter(|source| source.waiting.is_some());
            let Some(next) = waiting.min_by_key(|source| source.input.clock.now()) else {
                return Ok(());
            };
            if let Some(packet) = next.waiting.take() {
                self.packet(&mut next.input, packet);
            }
            self.advance(next)?;
        }
    }

    /// Takes packets of a buffer up to the next one that turns tracing on.
    fn advance<R: Read>(&mut self, source: &mut Source<R>) -> Result<(), ImportError> {
        for count in 1_usize.. {
            match source.next().map_err(ImportError::Packets)? {
                None => return self.write_out(WRITE_BYTES),
                Some(Ok(packet)) if source.input.is_turned_on_by(packet) => {
                    source.waiting = Some(packet);
                    return self.write_out(WRITE_BYTES);
                }
                Some(Ok(packet)) => self.packet(&mut source.input, packet),
                // The packets up to the next PSB are missing.
                Some(Err(_)) => self.gap(&mut source.input),
            }
            if count % WRITE_PACKETS == 0 {
                self.write_out(WRITE_BYTES)?;
            }
        }
        Ok(())
    }

    fn packet(&mut self, input: &mut Input, packet: Packet) {
        input.clock.packet(&packet);
        match packet {
            Packet::Psb => (input.boundary, input.last_ip) = (Some(None), 0),
            Packet::PsbEnd => self.boundary(input),
            Packet::ModeExec(mode) => input.mode = mode,
            Packet::Fup(ip) if input.boundary.is_some() => {
                input.boundary = Some(input.resolve(ip));
            }
            _ if input.boundary.is_some() => {}
            Packet::TipPge(ip) => self.enable(input, ip),
            Packet::TipPgd(ip) => self.disable(input, ip),
            Packet::Ovf => self.overflow(input),
            Packet::Fup(ip) if input.overflow.is_some() => self.after_overflow(input, ip),
            _ => self.pass(input, packet),
        }
    }

    /// Passes a packet on to the thread that is traced.
    fn pass(&mut self, input: &mut Input, packet: Packet) {
        let Some(stream) = input.task.and_then(|task| self.streams.get_mut(&task)) else { return };
        match packet {
            Packet::Tip(ip) => {
                let ip = input.resolve(ip);
                stream.mode(input.mode);
                stream.ip(Packet::Tip, ip);
            }
            Packet::Fup(ip) => stream.ip(Packet::Fup, input.resolve(ip)),
            // Time is written as time stamps.
            Packet::Tsc(_) | Packet::Mtc(_) | Packet::Cyc(_) => stream.time(input.clock.now()),
            Packet::Tma { .. } | Packet::Pad => {}
            packet => stream.append(packet),
        }
    }

    /// Ends PSB+. If it has no FUP, tracing is off.
    fn boundary(&mut self, input: &mut Input) {
        let Some(ip) = input.boundary.take() else { return };
        input.overflow = None;
        match (ip, input.task) {
            (None, _) => input.task = None,
            (Some(ip), Some(task)) => {
                if let Some(stream) = self.streams.get_mut(&task) {
                    stream.psb(input.clock.now(), input.mode, Some(ip));
                }
            }
            (Some(ip), None) => self.begin(input, Some(ip)),
        }
    }

    /// Begins to pass packets on, at an address without TIP.PGE or behind one.
    fn begin(&mut self, input: &mut Input, at: Option<u64>) {
        let now = input.clock.now().unwrap_or(0);
        let task = match (input.queue.thread, input.queue.cpu) {
            (Some(thread), _) => Some(self.timeline.task(thread)),
            (None, Some(cpu)) => self.timeline.on_cpu(cpu, now),
            (None, None) => None,
        };
        let space = task.and_then(|task| self.timeline.space(task.process, now));
        let (Some(task), Some(space)) = (task, space) else {
            self.imported.unattributed += 1;
            input.task = None;
            return;
        };
        let next = TraceId(self.streams.len() as u32);
        let stream = self.streams.entry(task).or_insert_with(|| Stream::new(next));
        let is_new_part = stream.space != Some(space);
        if is_new_part {
            stream.begin_part(space);
        }
        if is_new_part || stream.queue != input.queue.index || at.is_some() {
            stream.psb(input.clock.now(), input.mode, at);
        }
        stream.queue = input.queue.index;
        input.task = Some(task);
    }

    fn enable(&mut self, input: &mut Input, ip: Ip) {
        let ip = input.resolve(ip);
        input.overflow = None;
        self.begin(input, None);
        if let Some(stream) = input.task.and_then(|task| self.streams.get_mut(&task)) {
            stream.time(input.clock.now());
            stream.mode(input.mode);
            stream.ip(Packet::TipPge, ip);
        }
    }

    fn disable(&mut self, input: &mut Input, ip: Ip) {
        let ip = input.resolve(ip);
        if let Some(stream) = input.task.take().and_then(|task| self.streams.get_mut(&task)) {
            stream.ip(Packet::TipPgd, ip);
        }
    }

    fn overflow(&mut self, input: &mut Input) {
        input.last_ip = 0;
        input.overflow = Some(input.task.take());
        if let Some(stream) = input.overflow.flatten().and_then(|it| self.streams.get_mut(&it)) {
            stream.overflow();
        }
    }

    /// Continues at the FUP behind OVF: in the same thread, or in another one at a PSB.
    fn after_overflow(&mut self, input: &mut Input, ip: Ip) {
        let ip = input.resolve(ip);
        input.overflow = None;
        self.begin(input, ip);
    }

    fn gap(&mut self, input: &mut Input) {
        if let Some(stream) = input.task.take().and_then(|it| self.streams.get_mut(&it)) {
            stream.overflow();
        }
        input.clock.reset();
        (input.boundary, input.overflow) = (None, None);
    }

    /// Writes the packets of streams that have at least this many bytes.
    fn write_out(&mut self, least: u64) -> Result<(), ImportError> {
        for stream in self.streams.values_mut() {
            if stream.waiting() >= least {
                let bytes = stream.take();
                self.writer.packets(stream.trace, &bytes).map_err(ImportError::Recording)?;
            }
        }
        Ok(())
    }

    /// Writes what is left, and the notes.
    pub(super) fn finish(mut self) -> Result<Imported, ImportError> {
        self.write_out(1)?;
        let spaces = self.streams.values().flat_map(|stream| &stream.positions);
        let spaces: BTreeSet<SpaceId> = spaces.map(|(_, space)| *space).collect();
        for space in spaces {
            for mapping in self.timeline.mappings(space) {
                let missing = &mut self.imported.missing;
                for note in self.code.notes(space, mapping, missing) {
                    self.writer.note(&note).map_err(ImportError::Recording)?;
                }
            }
        }
        for (task, stream) in &self.streams {
            let name = self.timeline.name(task.thread).to_owned();
            let (pid, tid) = (task.process, task.thread);
            let thread = Note::Thread { trace: stream.trace, pid, tid, name };
            self.writer.note(&thread).map_err(ImportError::Recording)?;
            for (offset, space) in stream.positions.iter().copied() {
                let position = Note::Position { trace: stream.trace, offset, space };
                self.writer.note(&position).map_err(ImportError::Recording)?;
            }
        }
        Ok(self.imported)
    }
}

impl Input {
    /// Returns whether tracing is off before a packet and on behind it.
    fn is_turned_on_by(&self, packet: Packet) -> bool {
        let is_on = match packet {
            Packet::TipPge(_) => self.boundary.is_none(),
            Packet::PsbEnd => self.boundary.flatten().is_some(),
            Packet::Fup(_) => self.boundary.is_none() && self.overflow.is_some(),
            _ => false,
        };
        is_on && self.task.is_none()
    }

    fn resolve(&mut self, ip: Ip) -> Option<u64> {
        let ip = ip.resolve(self.last_ip);
        self.last_ip = ip.unwrap_or(self.last_ip);
        ip
    }
}
