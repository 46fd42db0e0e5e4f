//! The state machine: one step at a time, from a block or a packet to the next.

use super::{FlowDecoder, State, Step, Stepped};
use crate::flow::branches::Branches;
use crate::flow::cue::{Cue, CueKind};
use crate::flow::item::Event;
use crate::flow::{FlowError, FlowErrorKind};
use crate::pt::ExecMode;

impl FlowDecoder {
    /// Takes steps until there are instructions, or something else.
    #[inline(never)]
    pub(super) fn advance(&mut self) -> Stepped {
        loop {
            match self.step() {
                Ok(Step::Again) if self.run.is_empty() => {}
                stepped => return stepped,
            }
        }
    }

    #[inline]
    fn step(&mut self) -> Stepped {
        if let Some(end) = self.at.end {
            return self.leave_block(end);
        }
        if !self.at.branches.is_empty() {
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
    pub(super) fn fetch(&mut self) -> Stepped {
        match self.cues.next() {
            Some(cue) => self.receive(cue),
            None => self.read_packet(),
        }
    }

    #[inline]
    fn receive(&mut self, cue: Cue) -> Stepped {
        self.offset = cue.offset;
        if let CueKind::Report(_) = cue.kind {
            self.tsc = cue.tsc;
        } else {
            // Time stamps that no instruction took have passed, too.
            self.tsc = self.cues.take_times(&mut self.times).or(self.tsc);
        }
        match cue.kind {
            CueKind::Report(_) if self.state == State::Lost => {}
            CueKind::Report(event) => return Ok(Step::Event(event)),
            CueKind::Branches(tnt) if self.state == State::On && self.at.branches.is_empty() => {
                self.at.branches = Branches::new(tnt);
                self.progress.reset();
            }
            _ => self.cue = Some(cue),
        }
        Ok(Step::Again)
    }

    fn read_packet(&mut self) -> Stepped {
        let bad = match self.packets.next_packet() {
            Some(Ok(packet)) => match self.cues.single(packet) {
                Some(cue) => return self.receive(cue),
                None => match self.cues.packet(packet) {
                    Ok(()) => return Ok(Step::Again),
                    Err(bad) => (bad.offset, bad.kind),
                },
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
        if place == Some(self.at.ip) {
            return self.arrive(cue);
        }
        self.enter_block(place)
    }

    /// Applies the cue, at its place.
    pub(super) fn arrive(&mut self, cue: Cue) -> Stepped {
        self.take_cue(cue)?;
        let event = match cue.kind {
            CueKind::Interrupt { from, to } => {
                self.at.ip = to;
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
        self.at.ip = ip;
    }

    pub(super) fn take_cue(&mut self, cue: Cue) -> Result<(), FlowErrorKind> {
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
    pub(super) fn lose(&mut self, kind: FlowErrorKind) -> FlowError {
        let ip = (self.state == State::On).then(|| self.place());
        self.state = State::Lost;
        self.at.end = None;
        self.at.branches = Branches::NONE;
        self.times.clear();
        self.cue = self.cue.filter(|cue| matches!(cue.kind, CueKind::Boundary(_)));
        self.stack.clear();
        self.progress.reset();
        FlowError { offset: self.offset, ip, kind }
    }

    /// Returns the last instruction of a block that cannot be left, or the next instruction.
    fn place(&self) -> u64 {
        let last = self.at.end.and(self.run.end.checked_sub(1));
        last.and_then(|index| self.blocks.instruction(index)).map_or(self.at.ip, |last| last.ip)
    }
}
