//! Frequent records, whose words are stored in the buffer one by one.
//!
//! They have the words of a [`Record`](trace_format::Record) of the same content.

use std::sync::atomic::Ordering;

use trace_format::layout::{
    argument, argument_header, context_switch, event_header, record, scheduling, thread_wakeup,
    ArgumentType, EventType, RecordType, SchedulingType, StringRef, ThreadRef,
};
use trace_format::{Text, Thread};

use super::ContextSink;
use crate::event::Context;
use crate::fxt::{Label, RecordSink, Switch, SystemCall, Wakeup, LABELS, REGISTERS};

/// The arguments of a system call: number, registers and result.
const CALL_ARGUMENTS: usize = REGISTERS + 2;

/// The words of a number: header and value.
const NUMBER_WORDS: usize = 2;

/// The words of a system call behind its header: begin, arguments and end.
const CALL_WORDS: usize = 1 + NUMBER_WORDS * CALL_ARGUMENTS + 1;

/// System calls with larger numbers are not in the list of names.
const MAX_NUMBER: usize = 1 << 10;

/// The parts that all system calls of a recording have.
#[derive(Debug, Default)]
pub(super) struct CallParts {
    common: Option<CommonParts>,
    /// By the numbers of calls.
    names: Vec<Option<StringRef>>,
}

#[derive(Clone, Copy, Debug)]
struct CommonParts {
    category: StringRef,
    /// The headers of the arguments.
    headers: [u64; CALL_ARGUMENTS],
}

impl ContextSink<'_, '_> {
    /// Stores a system call that has returned. Returns `None` if it is another one, or if a part of
    /// it has no index.
    #[inline]
    pub(super) fn call_in_place(&mut self, call: &SystemCall) -> Option<()> {
        let (end, result) = (call.end?, call.result?);
        let thread = self.thread_ref(call.thread)?;
        let name = self.call_name(call)?;
        let CommonParts { category, headers } = match &self.tables.calls.common {
            Some(common) => common,
            None => self.find_common()?,
        };
        let mut words = [0; CALL_WORDS];
        let [first, arguments @ .., last] = &mut words;
        (*first, *last) = (call.start, end);
        let [a, b, c, d, e, f] = call.registers;
        let values = [call.number as u64, a, b, c, d, e, f, result as u64];
        let pairs = arguments.chunks_exact_mut(NUMBER_WORDS);
        for (pair, (header, value)) in pairs.zip(headers.iter().zip(values)) {
            pair.copy_from_slice(&[*header, value]);
        }
        let kind = EventType::DurationComplete;
        let count = CALL_ARGUMENTS;
        let header = event_header(kind, CALL_WORDS + 1, count, thread, *category, name);
        self.store(header, words);
        Some(())
    }

    #[inline]
    fn call_name(&mut self, call: &SystemCall) -> Option<StringRef> {
        let place = usize::try_from(call.number).ok()?;
        match self.tables.calls.names.get(place) {
            Some(Some(name)) => Some(*name),
            _ => self.find_call_name(call, place),
        }
    }

    #[cold]
    fn find_call_name(&mut self, call: &SystemCall, place: usize) -> Option<StringRef> {
        let name = index(self.text(&call.names.name(call.number)))?;
        if place < MAX_NUMBER {
            let names = &mut self.tables.calls.names;
            names.resize(MAX_NUMBER, None);
            names[place] = Some(name);
        }
        Some(name)
    }

    #[cold]
    fn find_common(&mut self) -> Option<&CommonParts> {
        let category = index(self.label(Label::Syscall))?;
        let [a, b, c, d, e, f] = LABELS;
        let labels = [Label::Number, a, b, c, d, e, f, Label::Result];
        let mut headers = [0; CALL_ARGUMENTS];
        for (header, label) in headers.iter_mut().zip(labels) {
            let is_signed = matches!(label, Label::Number | Label::Result);
            let kind = if is_signed { ArgumentType::Int64 } else { ArgumentType::Uint64 };
            *header = argument_header(kind, NUMBER_WORDS, index(self.label(label))?);
        }
        self.tables.calls.common = Some(CommonParts { category, headers });
        self.tables.calls.common.as_ref()
    }

    /// Stores a switch. Returns `None` if a priority is unknown, or a label has no index.
    #[inline]
    pub(super) fn switch_in_place(&mut self, switch: &Switch) -> Option<()> {
        let (outgoing, incoming) = (switch.outgoing, switch.incoming);
        let words = [
            switch.ticks,
            outgoing.0,
            incoming.0,
            self.weight(Label::OutgoingWeight, outgoing.1?)?,
            self.weight(Label::IncomingWeight, incoming.1?)?,
        ];
        let header = scheduling_header(SchedulingType::ContextSwitch, words.len() + 1)
            | context_switch::ArgumentCount::make(2)
            | context_switch::Cpu::make(switch.cpu.into())
            | context_switch::OutgoingState::make(switch.state.bits());
        self.scheduling += u64::from(self.store(header, words));
        Some(())
    }

    /// Stores a wake-up by a thread. Returns `None` if it is another one, if the priority is
    /// unknown, or if a label has no index.
    #[inline]
    pub(super) fn wakeup_in_place(&mut self, wakeup: &Wakeup) -> Option<()> {
        let (thread, priority) = wakeup.thread;
        let Some((Context::Thread, waker @ 1..)) = wakeup.by else { return None };
        let waker_name = index(self.label(Label::Waker))?;
        let words = [
            wakeup.ticks,
            thread,
            self.weight(Label::Weight, priority?)?,
            argument_header(ArgumentType::Koid, NUMBER_WORDS, waker_name),
            waker,
        ];
        let header = scheduling_header(SchedulingType::ThreadWakeup, words.len() + 1)
            | thread_wakeup::ArgumentCount::make(2)
            | thread_wakeup::Cpu::make(wakeup.cpu.into());
        self.scheduling += u64::from(self.store(header, words));
        Some(())
    }

    /// Returns the argument with a priority.
    #[inline]
    fn weight(&mut self, label: Label, priority: i32) -> Option<u64> {
        let header = argument_header(ArgumentType::Int32, 1, index(self.label(label))?);
        Some(header | argument::Value32::make(u64::from(priority as u32)))
    }

    /// Returns the ref of a thread, or `None` if the table is full.
    #[inline]
    fn thread_ref(&mut self, koids: trace_format::ThreadKoids) -> Option<ThreadRef> {
        match self.thread(Thread::Inline(koids)) {
            Thread::Indexed(index) => Some(ThreadRef::from_bits(index)),
            Thread::Inline(_) => None,
        }
    }

    /// Stores a record in the buffer, or counts it as lost. Returns whether it is stored.
    #[inline]
    fn store<const N: usize>(&mut self, header: u64, words: [u64; N]) -> bool {
        let Some(open) = self.context.reserve(N + 1) else { return false };
        for (place, word) in open.words().iter().skip(1).zip(words) {
            place.store(word, Ordering::Relaxed);
        }
        open.commit(header);
        true
    }
}

/// Returns the fields of a scheduling record of so many words that all of them have.
#[inline]
fn scheduling_header(kind: SchedulingType, words: usize) -> u64 {
    record::Type::make(RecordType::Scheduling.bits())
        | record::Size::make(words as u64)
        | scheduling::Type::make(kind.bits())
}

/// Returns the ref of a registered text.
#[inline]
fn index(text: Text<'_>) -> Option<StringRef> {
    match text {
        Text::Indexed(index) => Some(StringRef::indexed(index)),
        Text::Inline(_) => None,
    }
}
