//! The polls of spans.

use trace_runtime::context::Value;
use trace_runtime::DurationScope;

use crate::callsite::{Callsite, MAX_ARGUMENTS, POLL_KEYS};

/// A poll of a span: the time from one entry of a thread to its exit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Poll {
    pub(crate) callsite: &'static Callsite,
    /// Its number, from 1.
    pub(crate) number: u32,
    /// The track in the arguments of its duration. `None` if the span had no track.
    pub(crate) track: Option<u64>,
}

impl Poll {
    /// Begins the duration of this poll. The first one of a span has the values of its fields.
    #[inline]
    pub(crate) fn begin(self, values: &[Value<'_>]) -> DurationScope {
        let Self { callsite, number, track } = self;
        match track {
            None => callsite.point.begin(values),
            Some(track) if number > 1 => {
                callsite.track().poll.begin_poll(&[Value::Uint64(track), Value::Uint32(number)])
            }
            Some(track) => begin_first(callsite, track, values),
        }
    }
}

fn begin_first(callsite: &Callsite, track: u64, values: &[Value<'_>]) -> DurationScope {
    let mut arguments = [Value::Omitted; MAX_ARGUMENTS];
    let fields = callsite.keys().len().min(MAX_ARGUMENTS - POLL_KEYS.len());
    let last = [Value::Uint64(track), Value::Uint32(1)];
    let places = arguments.iter_mut();
    let omitted = std::iter::repeat(&Value::Omitted);
    let values = values.iter().chain(omitted).take(fields).chain(&last);
    places.zip(values).for_each(|(place, value)| *place = *value);
    callsite.track().first_poll.begin_poll(&arguments)
}
