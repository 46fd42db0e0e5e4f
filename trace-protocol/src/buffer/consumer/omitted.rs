//! What a provider says that it left out.

use trace_format::layout::{argument, event, StringRef};

use crate::buffer::omission::{Omission, Omitted};
use crate::buffer::producer::LossStrings;
use crate::words::as_bytes;

/// Adds to `omitted`, which is by [`Omission`], what this instant event says of it. The record is
/// well-formed.
///
/// The event is one of the durable buffer's last ones, so that its strings are in the record.
pub(super) fn learn(record: &[u64], omitted: &mut Omitted) {
    let Some((header, rest)) = record.split_first() else { return };
    if event::ArgumentCount::get(*header) != 1 {
        return;
    }
    let thread = if event::ThreadRef::get(*header) == 0 { 2 } else { 0 };
    let strings = rest.get(1 + thread..).unwrap_or(&[]);
    let Some((category, strings)) = text(event::CategoryRef::get(*header), strings) else { return };
    if category != LossStrings::CATEGORY.as_bytes() {
        return;
    }
    let Some((name, argument)) = text(event::NameRef::get(*header), strings) else { return };
    // The value is the argument's last word; behind it is the event's scope.
    let size = argument.first().map_or(0, |header| argument::Size::get(*header) as usize);
    let Some([_, .., number]) = argument.get(..size) else { return };
    if let Some(found) =
        Omission::ALL.into_iter().find(|omission| omission.event().as_bytes() == name)
    {
        let sum = &mut omitted[found as usize];
        *sum = sum.saturating_add(*number);
    }
}

/// The bytes of a string that is in the record, and the words behind it.
fn text(bits: u64, words: &[u64]) -> Option<(&[u8], &[u64])> {
    let length = StringRef::from_bits(bits as u16).inline_bytes()?;
    let (text, behind) = words.split_at_checked(length.div_ceil(8))?;
    Some((as_bytes(text).get(..length)?, behind))
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_format::encode;
    use trace_format::record::{Argument, Event, EventKind, Record, Thread, Value};

    fn learned(category: &str, name: &str, arguments: &[Argument<'_>]) -> Omitted {
        let event = Event {
            ticks: 1,
            thread: Thread::Inline(trace_format::layout::ThreadKoids::new(2, 3)),
            category: category.into(),
            name: name.into(),
            kind: EventKind::Instant { scope: Some(trace_format::layout::InstantScope::Process) },
            arguments: arguments.into(),
        };
        let mut words = Vec::new();
        encode::append(&mut words, &Record::from(event)).unwrap();
        let mut omitted = [1; Omission::ALL.len()];
        learn(&words, &mut omitted);
        omitted
    }

    #[test]
    fn each_omission_is_counted_by_its_event() {
        let number = [Argument::new(Omission::NUMBER, Value::Uint64(7))];
        for omission in Omission::ALL {
            let mut expected = [1; Omission::ALL.len()];
            expected[omission as usize] = 8;
            assert_eq!(learned("trace", omission.event(), &number), expected);
            assert_eq!(learned("other", omission.event(), &number), [1; Omission::ALL.len()]);
            assert_eq!(learned("trace", omission.event(), &[]), [1; Omission::ALL.len()]);
        }
        assert_eq!(learned("trace", "another name", &number), [1; Omission::ALL.len()]);
        let many = [Argument::new(Omission::NUMBER, Value::Uint64(u64::MAX))];
        assert_eq!(
            learned("trace", Omission::Names.event(), &many)[Omission::Names as usize],
            u64::MAX
        );
    }
}
