//! The machine code of sleds on x86-64.
//!
//! Compilers emit these 11 bytes:
//!
//! ```text
//! entry and tail exit: eb 09                jmp over the next 9 bytes
//!                      66 0f 1f 84 00 ...   nop
//! exit:                c3                   ret
//!                      2e 66 0f 1f 84 ...   nop
//! ```
//!
//! LLVM's runtime writes 11 new bytes, the first two of them last, by an atomic store into a page
//! that is writable and executable. Here one byte turns a sled on and off, so that any way of
//! writing is atomic, also one that does not make the page writable. First the sled is *prepared*:
//! only bytes change that are not executed while it is off. Then its *switch* is stored:
//!
//! ```text
//! entry and tail exit: eb [09]              off: jmp over the next 9 bytes; on, [00]: over none
//!                      e8 ?? ?? ?? ??       call the stub
//!                      0f 1f 40 00          nop
//! exit:                [c3]                 off: ret; on, [e9]: jmp to the stub
//!                      ?? ?? ?? ??
//! ```
//!
//! The sled of an event has its own call, and a jump over it:
//!
//! ```text
//! custom event:        eb [0f]              off: jmp over the next 15 bytes; on, [00]: over none
//!                      ...                  move the data's address and size to rdi and rsi
//!                      e8 ?? ?? ?? ??       call __xray_CustomEvent; prepared: the stub
//!                      ...                  restore rdi and rsi
//! typed event:         eb [14]              the same with rdi, rsi and rdx, 20 bytes
//! ```
//!
//! A prepared sled stays prepared, so a thread may be anywhere in it when the switch is stored.
//!
//! LLVM up to version 18 joins a conditional jump and the jump to another function behind it: the
//! tail exit is then in front of the conditional jump. Its call would change the flags of that
//! jump, and report an exit also when there is none. Such a sled cannot be on.

use trace_xray::layout::SledKind;

/// The length of a function's sled.
pub(crate) const BYTES: usize = 11;
/// The bytes of an event's sled between its jump and its call.
pub(crate) const CUSTOM_EVENT_MOVES: usize = 8;
pub(crate) const TYPED_EVENT_MOVES: usize = 12;
/// The length of a call.
pub(crate) const CALL_BYTES: usize = 5;
/// The length of a typed event's sled, the longest one.
pub(crate) const MOST_BYTES: usize = 22;
/// The bytes behind a tail exit that tell whether the jump there is conditional.
const JUMP_BYTES: usize = 2;

const ENTRY: [u8; BYTES] = [0xeb, 0x09, 0x66, 0x0f, 0x1f, 0x84, 0, 0, 0x02, 0, 0];
const EXIT: [u8; BYTES] = [0xc3, 0x2e, 0x66, 0x0f, 0x1f, 0x84, 0, 0, 0x02, 0, 0];
const CALL: u8 = 0xe8;
const JUMP: u8 = 0xe9;
const RETURN: u8 = 0xc3;
const SHORT_JUMP: u8 = 0xeb;
const LONG_NOP: [u8; 4] = [0x0f, 0x1f, 0x40, 0];

/// What a sled reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Entry,
    /// An entry of a function whose first argument is recorded.
    ArgumentEntry,
    Exit,
    /// An exit before a jump to another function.
    TailExit,
    /// Data that the program records.
    CustomEvent,
    /// Data that the program records, with its type.
    TypedEvent,
}

/// The state of a sled's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Original,
    Off,
    On,
}

/// What is written into a sled before it is on, and its place in the sled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Preparation {
    start: usize,
    bytes: [u8; BYTES - 1],
    length: usize,
}

impl Preparation {
    fn new(start: usize, code: &[u8]) -> Option<Self> {
        let mut bytes = [0; BYTES - 1];
        bytes.get_mut(..code.len())?.copy_from_slice(code);
        Some(Self { start, bytes, length: code.len() })
    }

    /// Returns the place in the sled.
    pub(crate) fn start(&self) -> usize {
        self.start
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }

    /// Returns whether code of a sled has it.
    fn is_in(&self, code: &[u8]) -> bool {
        code.get(self.start..).is_some_and(|code| code.starts_with(self.bytes()))
    }
}

impl Kind {
    /// Returns the kind of a map's sled.
    pub(crate) fn of(kind: SledKind) -> Self {
        match kind {
            SledKind::Entry => Self::Entry,
            SledKind::LogArgsEntry => Self::ArgumentEntry,
            SledKind::Exit => Self::Exit,
            SledKind::TailExit => Self::TailExit,
            SledKind::CustomEvent => Self::CustomEvent,
            SledKind::TypedEvent => Self::TypedEvent,
        }
    }

    /// Returns the length of a sled.
    pub(crate) fn bytes(self) -> usize {
        match self {
            Self::CustomEvent | Self::TypedEvent => 2 + usize::from(self.off()),
            _ => BYTES,
        }
    }

    /// Returns the bytes of a sled, with those behind it that are read.
    pub(crate) fn length(self) -> usize {
        match self {
            Self::TailExit => BYTES + JUMP_BYTES,
            _ => self.bytes(),
        }
    }

    /// Returns what makes a sled at `address` call `stub`, once it is on. `None` if the stub is too
    /// far.
    pub(crate) fn preparation(self, address: u64, stub: u64) -> Option<Preparation> {
        let call = self.call();
        let next = address.wrapping_add((call + CALL_BYTES) as u64);
        let distance = i32::try_from(stub.wrapping_sub(next) as i64).ok()?.to_le_bytes();
        match self {
            Self::Exit => Preparation::new(call + 1, &[&distance[..], &EXIT[5..]].concat()),
            Self::CustomEvent | Self::TypedEvent => Preparation::new(call + 1, &distance),
            _ => Preparation::new(call, &[&[CALL], &distance[..], &LONG_NOP].concat()),
        }
    }

    /// Returns the state of a sled with this code, or `None` if the code is another. Of an event,
    /// what is behind the call does not matter.
    pub(crate) fn state(self, code: &[u8], preparation: &Preparation) -> Option<State> {
        let code = code.get(..self.bytes())?;
        let (index, off) = self.switch(false);
        let (_, on) = self.switch(true);
        let switch = *code.get(index)?;
        let is_prepared = preparation.is_in(code);
        let is_original = match self {
            Self::Entry | Self::ArgumentEntry | Self::TailExit => code == ENTRY,
            Self::Exit => code == EXIT,
            Self::CustomEvent | Self::TypedEvent => {
                code.get(self.call()) == Some(&CALL)
                    && code.get(2..self.call()).is_some_and(keeps_arguments)
            }
        };
        let has_jump = self == Self::Exit || code.first() == Some(&SHORT_JUMP);
        let has_call = !matches!(self, Self::CustomEvent | Self::TypedEvent) || is_original;
        match switch {
            _ if !has_jump || !has_call => None,
            switch if is_prepared && switch == off => Some(State::Off),
            switch if is_prepared && switch == on => Some(State::On),
            switch if is_original && switch == off => Some(State::Original),
            _ => None,
        }
    }

    /// Returns the index and the value of the byte that turns a prepared sled on or off.
    pub(crate) fn switch(self, on: bool) -> (usize, u8) {
        match (self, on) {
            (Self::Exit, true) => (0, JUMP),
            (Self::Exit, false) => (0, RETURN),
            (_, true) => (1, 0),
            (_, false) => (1, self.off()),
        }
    }

    /// Returns the place of a switch among others of an object: exits are turned on before entries,
    /// and off after them. So a call whose entry is recorded finds its exits on. The exit of
    /// another call is ignored.
    pub(crate) fn turn(self, on: bool) -> u8 {
        match (self, on) {
            (Self::Exit | Self::TailExit, true) => 0,
            (_, true) => 1,
            (Self::Exit | Self::TailExit, false) => 3,
            (_, false) => 2,
        }
    }

    /// Returns the bytes that the jump of a sled that is off skips.
    fn off(self) -> u8 {
        match self {
            Self::CustomEvent => 15,
            Self::TypedEvent => 20,
            _ => 9,
        }
    }

    /// Returns the place of the call or jump to the stub.
    fn call(self) -> usize {
        match self {
            Self::Exit => 0,
            Self::CustomEvent => 2 + CUSTOM_EVENT_MOVES,
            Self::TypedEvent => 2 + TYPED_EVENT_MOVES,
            _ => 2,
        }
    }
}

/// An instruction in front of the call of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Push,
    Nop,
    /// From a register to another one.
    Move(u8, u8),
    Unknown,
}

/// Returns the instructions of code in front of the call of an event.
fn steps(mut code: &[u8]) -> impl Iterator<Item = Step> + '_ {
    std::iter::from_fn(move || {
        let (step, rest) = match code {
            [] => return None,
            [0x50..=0x57, rest @ ..] => (Step::Push, rest),
            [0x0f, 0x1f, 0x40, _, rest @ ..] => (Step::Nop, rest),
            [prefix @ (0x48 | 0x49 | 0x4c | 0x4d), 0x89, registers @ 0xc0..=0xff, rest @ ..] => {
                let from = registers >> 3 & 7 | prefix << 1 & 8;
                let to = registers & 7 | prefix << 3 & 8;
                (Step::Move(from, to), rest)
            }
            _ => (Step::Unknown, &[][..]),
        };
        code = rest;
        Some(step)
    })
}

/// Returns the number of words that the sled of an event pushes, by the code in front of its call.
pub(crate) fn pushed_words(code: &[u8]) -> usize {
    steps(code).filter(|step| *step == Step::Push).count()
}

/// Returns whether the code of an event that moves its arguments passes their values. Compilers
/// move one after another, and LLVM also emits a move from a register that has been overwritten.
fn keeps_arguments(code: &[u8]) -> bool {
    let mut written = 0_u16;
    steps(code).all(|step| match step {
        Step::Push | Step::Nop => true,
        Step::Move(from, _) if written & 1 << from != 0 => false,
        Step::Move(_, to) => {
            written |= 1 << to;
            true
        }
        Step::Unknown => false,
    })
}

/// Returns whether the jump that begins with these bytes is a conditional one.
pub(crate) fn is_conditional(jump: [u8; JUMP_BYTES]) -> bool {
    matches!(jump, [0x70..=0x7f, _] | [0x0f, 0x80..=0x8f])
}

#[cfg(test)]
mod tests {
    use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic};

    use super::*;

    const ADDRESS: u64 = 0x40_0000;
    const STUB: u64 = 0x30_0010;

    fn instructions(bytes: &[u8]) -> Vec<Instruction> {
        Decoder::with_ip(64, bytes, ADDRESS, DecoderOptions::NONE).into_iter().collect()
    }

    const FUNCTIONS: [Kind; 4] = [Kind::Entry, Kind::ArgumentEntry, Kind::TailExit, Kind::Exit];

    fn original(kind: Kind) -> Vec<u8> {
        match kind {
            Kind::Exit => EXIT.to_vec(),
            // push, push, mov, mov, call, pop, pop
            Kind::CustomEvent => b"\xeb\x0f\x57\x56\x48\x89\xf7\x48\x89\xd6\xe8\xc1\xff\xff\xff\x5e\x5f".to_vec(),
            // push, two NOPs, mov, call, two NOPs, pop
            Kind::TypedEvent => b"\xeb\x14\x57\x0f\x1f\x40\x08\x0f\x1f\x40\x08\x48\x89\xc7\xe8\xb7\xff\xff\xff\x90\x90\x5f".to_vec(),
            _ => ENTRY.to_vec(),
        }
    }

    /// Returns a sled that is prepared.
    fn prepared(kind: Kind) -> Vec<u8> {
        let mut code = original(kind);
        let preparation = kind.preparation(ADDRESS, STUB).unwrap();
        let end = preparation.start() + preparation.bytes().len();
        code[preparation.start()..end].copy_from_slice(preparation.bytes());
        code
    }

    fn turned_on(kind: Kind) -> Vec<Instruction> {
        let mut code = prepared(kind);
        let (index, value) = kind.switch(true);
        code[index] = value;
        instructions(&code)
    }

    #[test]
    fn an_entry_that_is_on_calls_the_stub_and_continues_behind_the_sled() {
        for kind in [Kind::Entry, Kind::ArgumentEntry, Kind::TailExit] {
            let [jump, call, nop] = turned_on(kind)[..] else { panic!("three instructions") };
            assert_eq!((jump.mnemonic(), jump.near_branch_target()), (Mnemonic::Jmp, ADDRESS + 2));
            assert_eq!((call.mnemonic(), call.near_branch_target()), (Mnemonic::Call, STUB));
            assert_eq!((nop.mnemonic(), nop.next_ip()), (Mnemonic::Nop, ADDRESS + 11));
        }
    }

    #[test]
    fn an_exit_that_is_on_jumps_to_the_stub() {
        let jump = turned_on(Kind::Exit)[0];
        assert_eq!((jump.mnemonic(), jump.near_branch_target()), (Mnemonic::Jmp, STUB));
    }

    #[test]
    fn an_event_that_is_on_calls_the_stub() {
        for kind in [Kind::CustomEvent, Kind::TypedEvent] {
            let instructions = turned_on(kind);
            let [jump, .., end] = instructions[..] else { panic!("instructions") };
            assert_eq!((jump.mnemonic(), jump.near_branch_target()), (Mnemonic::Jmp, ADDRESS + 2));
            let mut calls = instructions.iter().filter(|it| it.mnemonic() == Mnemonic::Call);
            assert_eq!(calls.next().map(Instruction::near_branch_target), Some(STUB));
            assert_eq!((calls.next(), end.next_ip()), (None, ADDRESS + kind.bytes() as u64));
        }
    }

    #[test]
    fn a_sled_that_is_off_executes_what_the_compiler_emitted() {
        for kind in FUNCTIONS.into_iter().chain([Kind::CustomEvent, Kind::TypedEvent]) {
            let code = prepared(kind);
            assert_eq!(instructions(&code)[0], instructions(&original(kind))[0]);
            let (index, value) = kind.switch(false);
            assert_eq!(code[index], value, "{kind:?} is prepared off");
        }
    }

    #[test]
    fn states_are_told_by_the_code() {
        for kind in FUNCTIONS.into_iter().chain([Kind::CustomEvent, Kind::TypedEvent]) {
            let preparation = kind.preparation(ADDRESS, STUB).unwrap();
            let state = |code: &[u8]| kind.state(code, &preparation);
            let (original, prepared) = (original(kind), prepared(kind));
            assert_eq!(state(&original), Some(State::Original), "{kind:?}");
            assert_eq!(state(&prepared), Some(State::Off), "{kind:?}");
            let (index, value) = kind.switch(true);
            let with = |code: &[u8], index: usize, value| {
                let mut code = code.to_vec();
                code[index] = value;
                code
            };
            assert_eq!(state(&with(&prepared, index, value)), Some(State::On), "{kind:?}");
            // Nothing else is a sled.
            assert_eq!(state(&with(&original, index, value)), None, "{kind:?}");
            assert_eq!(state(&with(&original, 0, 0x90)), None, "{kind:?}");
            assert_eq!(state(&with(&prepared, 0, 0x90)), None, "{kind:?}");
            assert_eq!(state(&with(&original, kind.call(), 0x90)), None, "{kind:?}");
            assert_eq!(state(&original[..original.len() - 1]), None, "{kind:?}");
        }
    }

    /// No call has an entry in the trace, and then an exit that is off.
    #[test]
    fn exits_are_on_while_entries_are() {
        let mut switches: Vec<_> =
            [true, false].into_iter().flat_map(|on| FUNCTIONS.map(|kind| (kind, on))).collect();
        switches.sort_by_key(|(kind, on)| kind.turn(*on));
        let is_exit = |kind: &Kind| matches!(kind, Kind::Exit | Kind::TailExit);
        let mut are_on: Vec<Kind> = Vec::new();
        for (kind, on) in switches {
            are_on.retain(|other| *other != kind);
            are_on.extend(on.then_some(kind));
            let exits = are_on.iter().filter(|kind| is_exit(kind)).count();
            assert!(exits == 2 || are_on.len() == exits, "{are_on:?}");
        }
        assert!(are_on.is_empty());
    }

    #[test]
    fn the_pushes_of_an_event_are_counted() {
        for (kind, words) in [(Kind::CustomEvent, 2), (Kind::TypedEvent, 1)] {
            assert_eq!(pushed_words(&original(kind)[2..kind.call()]), words, "{kind:?}");
        }
    }

    /// Of `__xray_typedevent(TYPE, DATA, SIZE)` with the data in rdi and the size in rsi.
    #[test]
    fn an_event_whose_arguments_are_overwritten_is_none() {
        assert!(keeps_arguments(b"\x57\x56\x48\x89\xf7\x48\x89\xd6"), "rdi = rsi, rsi = rdx");
        let moves = b"\x57\x56\x52\x48\x89\xc7\x48\x89\xfe\x48\x89\xf2";
        assert!(!keeps_arguments(moves), "rdi = rax, rsi = rdi, rdx = rsi");
        assert!(keeps_arguments(b"\x57\x56\x4c\x89\xc7\x49\x89\xd6"), "rdi = r8, r14 = rdx");
        assert!(!keeps_arguments(b"\x57\x56\x49\x89\xd6\x4c\x89\xf6"), "r14 = rdx, rsi = r14");
        assert!(!keeps_arguments(b"\x57\x90") && !keeps_arguments(b"\x48\x89"));
        let mut code = original(Kind::TypedEvent);
        code[2..14].copy_from_slice(moves);
        let preparation = Kind::TypedEvent.preparation(ADDRESS, STUB).unwrap();
        assert_eq!(Kind::TypedEvent.state(&code, &preparation), None);
    }

    #[test]
    fn a_stub_that_is_too_far_is_none() {
        assert_eq!(Kind::Entry.preparation(ADDRESS, ADDRESS + (1 << 31) + 7), None);
        assert!(Kind::Entry.preparation(ADDRESS, ADDRESS + (1 << 31) + 6).is_some());
    }
}
