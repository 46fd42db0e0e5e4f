//! Which events' samples are the profile.

use super::attribute::Attribute;
use super::sample::{CALLCHAIN, PERIOD};

/// Returns, for each event, whether its samples are stacks of the profile: those of the first event
/// that takes samples. If all events are tracepoints, those of the first one with stacks.
pub(super) fn choose(attributes: &[Attribute]) -> Vec<bool> {
    let has_stacks = |it: &&Attribute| it.sample_type & CALLCHAIN != 0;
    let sampled = attributes.iter().find(|it| it.is_sampled());
    let first = sampled.or_else(|| attributes.iter().find(has_stacks));
    let is_of_profile = |it: &Attribute| first.is_some_and(|first| it.counts_like(first));
    attributes.iter().map(is_of_profile).collect()
}

/// Returns whether samples of the profile count different numbers of events: the kernel varies the
/// period to reach a frequency, except for its clocks.
pub(super) fn is_weighted(attributes: &[Attribute], profile: &[bool]) -> bool {
    let of_profile = || attributes.iter().zip(profile).filter(|(_, it)| **it).map(|(it, _)| it);
    let first = of_profile().next().and_then(Attribute::period);
    let is_same = |it: &Attribute| it.sample_type & PERIOD == 0 && it.period() == first;
    !of_profile().all(|it| it.is_clock() || is_same(it))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_of_one_event_are_the_profile() {
        let event = |kind, config, sample_type| {
            let rate = 1;
            Attribute { kind, config, sample_type, rate, ..Attribute::default() }
        };
        let (dummy, cycles, other) = (event(1, 9, 0), event(0, 0, CALLCHAIN), event(0, 1, 0));
        let tracepoint = event(2, 9, CALLCHAIN);
        let list = [tracepoint.clone(), dummy.clone(), cycles, other];
        assert_eq!(choose(&list), [false, false, true, false]);
        assert_eq!(choose(&[dummy, event(2, 8, 0), tracepoint]), [false, false, true]);
        assert_eq!(choose(&[event(2, 8, 0)]), [false]);
    }
}
