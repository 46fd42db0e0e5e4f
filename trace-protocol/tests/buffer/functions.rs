//! Scopes whose begin and end have a word each in the buffer.

mod both_forms;
mod calls;
mod hostile;
mod interrupted;
mod late_ends;

use trace_format::layout::EventType::{DurationBegin, DurationComplete, DurationEnd};
use trace_format::layout::{event, EventType, StringRef};
use trace_protocol::buffer::function::FunctionWord;
use trace_protocol::buffer::header::BufferingMode;

use crate::harness::events;

const MODES: [BufferingMode; 3] =
    [BufferingMode::Oneshot, BufferingMode::Circular, BufferingMode::Streaming];

/// The function with this number, 0 or 1.
fn function(number: u16) -> FunctionWord {
    FunctionWord::new(StringRef::indexed(100), StringRef::indexed(101 + number)).unwrap()
}

fn kinds(words: &[u64]) -> Vec<(EventType, usize)> {
    events(words).into_iter().map(|(_, kind, record)| (kind, record.len())).collect()
}

/// Names, begins and ends of the scopes that have ended; names and begins of the others.
type Scopes = (Vec<(u64, u64, u64)>, Vec<(u64, u64)>);

/// Returns the scopes as a reader pairs them.
fn scopes(words: &[u64]) -> Scopes {
    let (mut ended, mut open): (Vec<_>, Vec<(u64, u64)>) = Default::default();
    for (_, kind, record) in events(words) {
        let name = event::NameRef::get(record[0]);
        match kind {
            DurationComplete => ended.push((name, record[1], *record.last().unwrap())),
            DurationBegin => open.push((name, record[1])),
            DurationEnd => {
                let place = open.iter().rposition(|(of, _)| *of == name).expect("its begin");
                ended.push((name, open.remove(place).1, record[1]));
            }
            _ => {}
        }
    }
    ended.sort_unstable_by_key(|(_, begin, _)| *begin);
    (ended, open)
}
