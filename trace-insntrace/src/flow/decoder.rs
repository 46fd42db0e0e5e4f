//! Instructions from packets and code.

use std::collections::VecDeque;
use std::ops::Range;

use super::block::{Block, Blocks, End};
use super::cue::{Cue, CueKind, Cues};
use super::item::{Event, Instruction, InstructionKind, Item, Part};
use super::progress::Progress;
use super::{FlowError, FlowErrorKind, Image};
use crate::pt::{ExecMode, PacketDecoder, ReturnStack, Tnt};

/// Decodes an instruction flow without I/O: [`push`](Self::push) bytes of a stream, then take items
/// with [`next_item`](Self::next_item) until there is none.
///
/// Instructions are returned if packets confirm them. Those after the last packet of a stream are
/// not returned.
///
/// # Examples
///
/// ```
/// use trace_insntrace::flow::{FlowDecoder, Image, Item};
/// use trace_insntrace::pt::{ExecMode, PsbState, Writer};
///
/// // dec ecx; jnz -4; syscall
/// let mut image = Image::new();
/// image.insert(0x1000, &[0xff, 0xc9, 0x75, 0xfc, 0x0f, 0x05]);
///
/// let mut writer = Writer::new();
/// writer.psb(PsbState { tsc: Some(1_000), cbr: None, mode: ExecMode::LONG, ip: Some(0x1000) });
/// writer.conditional(true);
/// writer.conditional(false);
/// writer.disable(None);
///
/// let mut flow = FlowDecoder::new(image);
/// flow.push(&writer.take());
/// flow.end();
/// let mut ips = Vec::new();
/// while let Some(item) = flow.next_item() {
///     if let Item::Instruction(instruction) = item? {
///         ips.push(instruction.ip);
///     }
/// }
/// assert_eq!(ips, [0x1000, 0x1002, 0x1000, 0x1002, 0x1004]);
/// # Ok::<(), trace_insntrace::flow::FlowError>(())
/// ```
#[derive(Debug, Clone)]
pub struct FlowDecoder {
    packets: PacketDecoder,
    cues: Cues,
    image: Image,
    blocks: Blocks,
    state: State,
    /// The next instruction after `run`, while tracing is on.
    ip: u64,
    /// Instructions that were executed and not returned yet.
    run: Range<usize>,
    /// How the block of `run` ends, until its successor is known.
    end: Option<End>,
    branches: Option<Tnt>,
    cue: Option<Cue>,
    stack: ReturnStack,
    progress: Progress,
    offset: u64,
    tsc: Option<u64>,
    /// The time stamps between the last two cues. Direct calls have no packet: each takes one, and
    /// the last one belongs to the cue.
    times: VecDeque<u64>,
    ended: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Skips to the next PSB.
    Lost,
    Off,
    On,
}

/// The result of a step of the decoder.
enum Step {
    Again,
    Event(Event),
    /// More bytes are needed.
    Starved,
}

type Stepped = Result<Step, FlowErrorKind>;

impl FlowDecoder {
    /// Creates a decoder for code in `image`.
    #[must_use]
    pub fn new(image: Image) -> Self {
        Self {
            packets: PacketDecoder::new(),
            cues: Cues::default(),
            image,
            blocks: Blocks::new(),
            state: State::Lost,
            ip: 0,
            run: 0..0,
            end: None,
            branches: None,
            cue: None,
            stack: ReturnStack::new(),
            progress: Progress::default(),
            offset: 0,
            tsc: None,
            times: VecDeque::new(),
            ended: false,
        }
    }

    /// Appends the next bytes of the stream.
    pub fn push(&mut self, bytes: &[u8]) {
        self.packets.push(bytes);
    }

    /// Declares that the stream ends here.
    pub fn end(&mut self) {
        self.packets.end();
        self.ended = true;
    }

    /// Returns the image.
    #[must_use]
    pub fn image(&self) -> &Image {
        &self.image
    }

    /// Returns the image, for changes of the program's code.
    ///
    /// Clears the cache of decoded code, so this call is expensive.
    pub fn image_mut(&mut self) -> &mut Image {
        // Instructions that are not yet returned were executed before the change.
        let kept: Vec<_> = self.run.clone().filter_map(|at| self.blocks.instruction(at)).collect();
        self.blocks.restart(&kept);
        self.run = 0..kept.len();
        &mut self.image
    }

    /// Returns the last time stamp before the item returned last, if there was one.
    #[must_use]
    pub fn tsc(&self) -> Option<u64> {
        self.tsc
    }

    /// Returns the offset in the stream of the current packet.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the next instruction or event, or `None` if more bytes are required.
    ///
    /// # Errors
    ///
    /// Fails if packets and code do not agree. The next call continues at the next PSB.
    #[inline]
    pub fn next_item(&mut self) -> Option<Result<Item, FlowError>> {
        loop {
            if let Some(instruction) = self.next_in_run() {
                return Some(Ok(Item::Instruction(instruction)));
            }
            match self.step() {
                Ok(Step::Again) => {}
                Ok(Step::Event(event)) => return Some(Ok(Item::Event(event))),
                Ok(Step::Starved) => return None,
                Err(kind) => return Some(Err(self.lose(kind))),
            }
        }
    }

    /// The same as [`next_item`](Self::next_item) for several instructions of the same time at
    /// once: those up to the next branch.
    ///
    /// # Errors
    ///
    /// See [`next_item`](Self::next_item).
    #[inline]
    pub fn next_part(&mut self) -> Option<Result<Part<'_>, FlowError>> {
        while self.run.is_empty() {
            match self.step() {
                Ok(Step::Again) => {}
                Ok(Step::Event(event)) => return Some(Ok(Part::Event(event))),
                Ok(Step::Starved) => return None,
                Err(kind) => return Some(Err(self.lose(kind))),
            }
        }
        let mut part = self.run.clone();
        if !self.times.is_empty() {
            self.advance_time(part.start);
            part.end = part.start + 1;
        }
        self.run.start = part.end;
        Some(Ok(Part::Instructions(self.blocks.instructions(part))))
    }

    #[inline]
    fn next_in_run(&mut self) -> Option<Instruction> {
        let index = self.run.next()?;
        if !self.times.is_empty() {
            self.advance_time(index);
        }
        self.blocks.instruction(index)
    }

    /// Sets the time of the instruction at `index`. If several time stamps remain, the first one is
    /// that of the next call.
    #[cold]
    fn advance_time(&mut self, index: usize) {
        self.tsc = self.times.front().copied();
        let instruction = self.blocks.instruction(index);
        let is_call = instruction.is_some_and(|it| it.kind == InstructionKind::Call);
        if is_call || self.times.len() == 1 {
            self.times.pop_front();
        }
    }

    fn step(&mut self) -> Stepped {
        if let Some(end) = self.end {
            return self.leave_block(end);
        }
        if self.branches.is_some() {
            return self.enter_block(None);
        }
        let Some(cue) = self.cue else {
            return self.fetch();
        };
        match self.state {
            State::On => self.follow(cue),
            State::Off => self.wait(cue),
            State::Lost => Ok(self.find_boundary(cue)),
        }
    }

    /// Takes the next cue from the packets.
    fn fetch(&mut self) -> Stepped {
        let Some(cue) = self.cues.next() else {
            return self.read_packet();
        };
        self.offset = cue.offset;
        if let CueKind::Report(_) = cue.kind {
            self.tsc = cue.tsc;
        } else {
            self.cues.take_times(&mut self.times);
        }
        match cue.kind {
            CueKind::Report(_) if self.state == State::Lost => {}
            CueKind::Report(event) => return Ok(Step::Event(event)),
            CueKind::Branches(tnt) if self.state == State::On && self.branches.is_none() => {
                self.branches = Some(tnt);
                self.progress.reset();
            }
            _ => self.cue = Some(cue),
        }
        Ok(Step::Again)
    }

    fn read_packet(&mut self) -> Stepped {
        let bad = match self.packets.next_packet() {
            Some(Ok(packet)) => match self.cues.packet(packet) {
                Ok(()) => return Ok(Step::Again),
                Err(bad) => (bad.offset, bad.kind),
            },
            Some(Err(bad)) => (bad.offset, FlowErrorKind::Packet(bad.error)),
            None if self.ended => {
                self.cues.end();
                return Ok(if self.cues.is_empty() { Step::Starved } else { Step::Again });
            }
            None => return Ok(Step::Starved),
        };
        self.cues.reset();
        // Further errors before the next PSB are consequences of the first.
        if self.state == State::Lost && !matches!(bad.1, FlowErrorKind::Packet(_)) {
            return Ok(Step::Again);
        }
        self.offset = bad.0;
        Err(bad.1)
    }

    /// Continues while tracing is on and all branches are taken.
    fn follow(&mut self, cue: Cue) -> Stepped {
        let place = match cue.kind {
            CueKind::Target(_) | CueKind::Disable(None) => None,
            CueKind::Disable(Some(ip)) | CueKind::Boundary(Some(ip)) => Some(ip),
            CueKind::Interrupt { from, .. } | CueKind::InterruptAndDisable { from, .. } => {
                Some(from)
            }
            CueKind::Overflow(ip) => {
                self.take_cue(cue)?;
                return Ok(self.overflow(ip));
            }
            _ => return Err(FlowErrorKind::UnexpectedPacket),
        };
        if place == Some(self.ip) {
            return self.arrive(cue);
        }
        self.enter_block(place)
    }

    /// Applies the cue, at its place.
    fn arrive(&mut self, cue: Cue) -> Stepped {
        self.take_cue(cue)?;
        let event = match cue.kind {
            CueKind::Interrupt { from, to } => {
                self.ip = to;
                Event::Interrupted { from, to: Some(to), disabled: false }
            }
            CueKind::InterruptAndDisable { from, to } => {
                self.state = State::Off;
                Event::Interrupted { from, to, disabled: true }
            }
            CueKind::Disable(to) => {
                self.state = State::Off;
                Event::Disabled { to }
            }
            _ => return Ok(Step::Again),
        };
        Ok(Step::Event(event))
    }

    /// Executes the block at `self.ip`, or the part of it before `place`.
    fn enter_block(&mut self, place: Option<u64>) -> Stepped {
        if self.progress.is_loop(self.ip) {
            return Err(FlowErrorKind::NoProgress);
        }
        let block = self.blocks.at(self.ip, &self.image);
        self.run = Blocks::range(block);
        self.end = Some(block.end);
        if let Some(place) = place {
            self.cut_block(block, place);
        }
        Ok(Step::Again)
    }

    fn cut_block(&mut self, block: Block, place: u64) {
        if let Some(index) = self.blocks.find(block, place) {
            self.run.end = index;
            self.end = Some(End::Next(place));
        }
    }

    /// Continues after the last instruction of a block.
    fn leave_block(&mut self, end: End) -> Stepped {
        let next = match end {
            End::Next(next) | End::Jump(next) => next,
            End::AddressSpace(next) => match self.cue {
                Some(Cue { kind: CueKind::Disable(None), .. }) => return self.indirect(end),
                _ => next,
            },
            End::Call { target, return_to } => {
                if target != return_to {
                    self.stack.push(return_to);
                }
                target
            }
            End::Conditional { target, next } => match self.branch() {
                Some(true) => target,
                Some(false) => next,
                None => return self.indirect(end),
            },
            End::Return => match self.branch() {
                Some(true) => self.stack.pop().ok_or(FlowErrorKind::ReturnWithoutCall)?,
                Some(false) => return Err(FlowErrorKind::ReturnNotTaken),
                None => return self.indirect(end),
            },
            End::IndirectJump | End::IndirectCall { .. } | End::Far => return self.indirect(end),
            End::Fault { ip, kind } => {
                self.ip = ip;
                self.end = None;
                return Err(kind);
            }
        };
        self.ip = next;
        self.end = None;
        Ok(Step::Again)
    }

    /// Continues after an instruction whose target must be in the cue.
    fn indirect(&mut self, end: End) -> Stepped {
        let Some(cue) = self.cue else {
            return self.fetch();
        };
        let target = match (cue.kind, end) {
            (CueKind::Disable(Some(_)), _) => return self.stop_behind_block(cue),
            (CueKind::Disable(None), End::Far | End::AddressSpace(_)) => {
                return self.stop_behind_block(cue);
            }
            (_, End::Conditional { .. }) => return Err(FlowErrorKind::NoBranch),
            (CueKind::Target(target), _) => target,
            _ => return Err(FlowErrorKind::NoTarget),
        };
        match end {
            End::IndirectCall { return_to } => self.stack.push(return_to),
            End::Return => drop(self.stack.pop()),
            _ => {}
        }
        self.take_cue(cue)?;
        self.ip = target;
        self.end = None;
        Ok(Step::Again)
    }

    fn stop_behind_block(&mut self, cue: Cue) -> Stepped {
        self.branches = None;
        self.end = None;
        self.arrive(cue)
    }

    /// Continues while tracing is off.
    fn wait(&mut self, cue: Cue) -> Stepped {
        self.take_cue(cue)?;
        match cue.kind {
            CueKind::Enable(ip) => {
                self.turn_on(ip);
                Ok(Step::Event(Event::Enabled { ip }))
            }
            CueKind::Overflow(ip) => Ok(self.overflow(ip)),
            CueKind::Boundary(None) => Ok(Step::Again),
            CueKind::Boundary(Some(ip)) => Ok(self.synchronize(Some(ip))),
            _ => Err(FlowErrorKind::UnexpectedPacket),
        }
    }

    fn find_boundary(&mut self, cue: Cue) -> Step {
        let taken = self.take_cue(cue);
        match cue.kind {
            CueKind::Boundary(ip) if taken.is_ok() => self.synchronize(ip),
            _ => Step::Again,
        }
    }

    fn synchronize(&mut self, ip: Option<u64>) -> Step {
        self.turn_on_or_off(ip);
        Step::Event(Event::Synchronized { ip })
    }

    fn overflow(&mut self, ip: Option<u64>) -> Step {
        self.stack.clear();
        self.turn_on_or_off(ip);
        Step::Event(Event::Overflow { ip })
    }

    fn turn_on_or_off(&mut self, ip: Option<u64>) {
        self.state = State::Off;
        if let Some(ip) = ip {
            self.turn_on(ip);
        }
    }

    fn turn_on(&mut self, ip: u64) {
        self.state = State::On;
        self.ip = ip;
    }

    /// Takes the oldest branch, if there is one.
    #[inline]
    fn branch(&mut self) -> Option<bool> {
        let (taken, rest) = self.branches?.split_first();
        self.branches = rest;
        self.progress.reset();
        Some(taken)
    }

    fn take_cue(&mut self, cue: Cue) -> Result<(), FlowErrorKind> {
        self.cue = None;
        self.tsc = cue.tsc;
        self.times.clear();
        self.progress.reset();
        cue.mode.map_or(Ok(()), |mode| self.set_mode(mode))
    }

    fn set_mode(&mut self, mode: ExecMode) -> Result<(), FlowErrorKind> {
        self.blocks.set_bitness(mode.bitness().ok_or(FlowErrorKind::BadMode)?);
        Ok(())
    }

    /// Drops the position of execution. Decoding continues at the PSB that could not be reached, if
    /// there is one.
    #[cold]
    fn lose(&mut self, kind: FlowErrorKind) -> FlowError {
        let ip = (self.state == State::On).then(|| self.place());
        self.state = State::Lost;
        self.end = None;
        self.branches = None;
        self.times.clear();
        self.cue = self.cue.filter(|cue| matches!(cue.kind, CueKind::Boundary(_)));
        self.stack.clear();
        self.progress.reset();
        FlowError { offset: self.offset, ip, kind }
    }

    /// Returns the last instruction of a block that cannot be left, or the next instruction.
    fn place(&self) -> u64 {
        let last = self.end.and(self.run.end.checked_sub(1));
        last.and_then(|index| self.blocks.instruction(index)).map_or(self.ip, |last| last.ip)
    }
}
