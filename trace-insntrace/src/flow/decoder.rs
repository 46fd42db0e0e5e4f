//! Instructions from packets and code.

mod execute;
mod follow;
mod known;
mod visit;

use std::collections::VecDeque;
use std::ops::Range;

use super::blocks::{Blocks, Exit};
use super::branches::Branches;
use super::code::End;
use super::cue::{Cue, Cues};
use super::item::{Event, Instruction, InstructionKind, Item, Part};
use super::progress::Progress;
use super::{FlowError, FlowErrorKind, Image};
use crate::pt::{PacketDecoder, ReturnStack, Timing};

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
    at: Position,
    /// Instructions that were executed and not returned yet.
    run: Range<usize>,
    cue: Option<Cue>,
    stack: ReturnStack<Caller>,
    progress: Progress,
    offset: u64,
    tsc: Option<u64>,
    /// The time stamps between the last two cues. Direct calls have no packet: each takes one, and
    /// the last one belongs to the cue.
    times: VecDeque<u64>,
    ended: bool,
}

/// Where execution is.
#[derive(Debug, Clone, Copy, Default)]
struct Position {
    /// The next instruction after `run`, while tracing is on.
    ip: u64,
    /// How the block of `run` ends, until its successor is known.
    end: Option<End>,
    /// The way out of the block of `run`.
    exit: Exit,
    /// The branches that packets have and no block has taken yet.
    branches: Branches,
}

/// A call that has not returned.
#[derive(Debug, Clone, Copy, Default)]
struct Caller {
    return_to: u64,
    /// The way from the block of the call to the one behind it.
    exit: Exit,
}

/// The code of an address space, with what was decoded of it.
#[derive(Debug)]
pub(crate) struct Code {
    image: Image,
    blocks: Blocks,
}

impl Code {
    pub(crate) fn new(image: Image) -> Self {
        Self { image, blocks: Blocks::new() }
    }

    /// Returns about how much memory the decoded code takes.
    pub(crate) fn decoded_bytes(&self) -> usize {
        self.blocks.bytes()
    }
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
            at: Position::default(),
            run: 0..0,
            cue: None,
            stack: ReturnStack::new(),
            progress: Progress::default(),
            offset: 0,
            tsc: None,
            times: VecDeque::new(),
            ended: false,
        }
    }

    /// Refines the time by MTC and CYC packets. By default, it is that of time stamps.
    #[must_use]
    pub fn with_timing(mut self, timing: Timing) -> Self {
        self.cues.set_timing(timing);
        self
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
        self.move_run(|flow| flow.blocks.clear());
        &mut self.image
    }

    /// Exchanges the code, each with its cache.
    pub(crate) fn swap_code(&mut self, code: &mut Code) {
        self.move_run(|flow| {
            let bitness = flow.blocks.bitness();
            std::mem::swap(&mut flow.image, &mut code.image);
            std::mem::swap(&mut flow.blocks, &mut code.blocks);
            flow.blocks.set_bitness(bitness);
        });
    }

    /// Changes the cache. Instructions that are not yet returned were executed before the change.
    /// An error may refer to the last one.
    fn move_run(&mut self, change: impl FnOnce(&mut Self)) {
        let is_used = !self.run.is_empty() || self.at.end.is_some();
        let first = self.run.start.min(self.run.end.saturating_sub(1));
        let kept = self.blocks.instructions(first..self.run.end).to_vec();
        let returned = self.run.start - first;
        change(self);
        let kept = if is_used { self.blocks.append(&kept) } else { 0..0 };
        self.run = (kept.start + returned).min(kept.end)..kept.end;
    }

    /// Returns the time before the item returned last, if there was one: that of the last time
    /// stamp, or a [refined](Self::with_timing) one.
    #[must_use]
    pub fn tsc(&self) -> Option<u64> {
        self.tsc
    }

    /// Returns whether the instruction returned last is 16, 32 or 64-bit code.
    #[must_use]
    pub fn bitness(&self) -> u32 {
        self.blocks.bitness()
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
            match self.advance() {
                Ok(Step::Again) => {}
                Ok(Step::Event(event)) => return Some(Ok(Item::Event(event))),
                Ok(Step::Starved) => return None,
                Err(kind) => return Some(Err(self.lose(kind))),
            }
        }
    }

    /// The same as [`next_item`](Self::next_item) for several instructions of the same time at
    /// once: those up to the next branch that is not a direct jump forward.
    ///
    /// # Errors
    ///
    /// See [`next_item`](Self::next_item).
    #[inline]
    pub fn next_part(&mut self) -> Option<Result<Part<'_>, FlowError>> {
        while self.run.is_empty() {
            match self.advance() {
                Ok(Step::Again) => {}
                Ok(Step::Event(event)) => return Some(Ok(Part::Event(event))),
                Ok(Step::Starved) => return None,
                Err(kind) => return Some(Err(self.lose(kind))),
            }
        }
        let part = self.take_run();
        Some(Ok(Part::Instructions(self.blocks.instructions(part))))
    }

    /// Takes the instructions of a block, and sets their time. A call is the last one of its block.
    #[inline]
    fn take_run(&mut self) -> Range<usize> {
        let part = self.run.clone();
        self.run.start = part.end;
        self.take_times(&part);
        part
    }

    #[inline]
    fn take_times(&mut self, part: &Range<usize>) {
        if let (false, Some(last)) = (self.times.is_empty(), part.end.checked_sub(1)) {
            self.advance_time(last);
        }
    }

    #[inline]
    fn next_in_run(&mut self) -> Option<Instruction> {
        let index = self.run.next()?;
        if !self.times.is_empty() {
            self.advance_time(index);
        }
        self.blocks.instruction(index)
    }

    /// Sets the time of the instructions up to that at `index`, of which no other is a call. If
    /// several time stamps remain, the first one is that of the next call.
    #[cold]
    fn advance_time(&mut self, index: usize) {
        self.tsc = self.times.front().copied();
        let instruction = self.blocks.instruction(index);
        let is_call = instruction.is_some_and(|it| it.kind == InstructionKind::Call);
        if is_call || self.times.len() == 1 {
            self.times.pop_front();
        }
    }
}
