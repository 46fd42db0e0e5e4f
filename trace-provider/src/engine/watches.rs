//! The conditions that a session requests, and the trace points that compare them.
//!
//! A condition is *watched* once a trace point that is on compares its durations. The manager is
//! then informed, and no longer evaluates the condition for this provider. This requires that all
//! trace points of its name compare: else the manager evaluates it over the records of all.

use std::collections::{BTreeMap, BTreeSet};

use trace_protocol::message::DurationLimit;

use crate::engine::conditions::Conditions;
use crate::engine::problem::Problem;

/// The conditions of the current recording.
#[derive(Debug)]
pub(crate) struct Watches {
    conditions: &'static Conditions,
    /// By category and name.
    names: BTreeMap<String, BTreeMap<String, Named>>,
    /// The places that are in a list.
    listed: BTreeSet<u32>,
    /// The numbers of the conditions that the manager knows to be watched.
    reported: BTreeSet<u32>,
}

/// The conditions of one category and name.
#[derive(Debug, Default)]
struct Named {
    limits: Vec<Limit>,
    /// Whether there is a trace point of this name that compares.
    compares: bool,
    /// Whether there is one that does not.
    has_others: bool,
}

/// A limit of the durations of a name.
#[derive(Debug)]
struct Limit {
    ticks: u64,
    place: u32,
    /// The numbers of the conditions that have this limit.
    numbers: Vec<u32>,
    is_watched: bool,
}

impl Watches {
    pub(crate) fn new(conditions: &'static Conditions) -> Self {
        let (listed, reported) = (BTreeSet::new(), BTreeSet::new());
        Self { conditions, names: BTreeMap::new(), listed, reported }
    }

    /// Replaces the requested conditions. Trace points compare those that are new once they are
    /// turned on again.
    ///
    /// # Errors
    ///
    /// If the process has had too many different conditions.
    pub(crate) fn request(&mut self, limits: &[DurationLimit]) -> Result<(), Problem> {
        let earlier = std::mem::take(&mut self.names);
        for limit in limits {
            let place = self.conditions.place_of(limit).ok_or("it requests too many conditions")?;
            let names = self.names.entry(limit.category.clone()).or_default();
            names.entry(limit.name.clone()).or_default().add(limit, place);
        }
        let kept: BTreeSet<u32> = self.limits().map(|limit| limit.place).collect();
        let earlier = earlier.values().flat_map(BTreeMap::values).flat_map(|it| &it.limits);
        for limit in earlier.filter(|limit| !kept.contains(&limit.place)) {
            self.conditions.disable(limit.place);
        }
        Ok(())
    }

    /// Forgets the trace points and their strings. While nothing is recorded.
    pub(crate) fn begin(&mut self) {
        self.conditions.clear();
        self.listed.clear();
        self.reported.clear();
        for named in self.names.values_mut().flat_map(BTreeMap::values_mut) {
            (named.compares, named.has_others) = (false, false);
            named.limits.iter_mut().for_each(|limit| limit.is_watched = false);
        }
    }

    /// Returns whether a condition is requested for a category.
    pub(crate) fn has_category(&self, category: &str) -> bool {
        self.names.contains_key(category)
    }

    /// Returns whether a condition is requested for a category and name.
    pub(crate) fn has(&self, category: &str, name: &str) -> bool {
        self.names.get(category).is_some_and(|names| names.contains_key(name))
    }

    /// Adds a trace point of a name that is requested. `refs` are those of its category and name.
    /// Returns whether it must compare.
    pub(crate) fn add(&mut self, category: &str, name: &str, compares: bool, refs: u32) -> bool {
        let Self { conditions, names, listed, reported } = self;
        let Some(named) = names.get_mut(category).and_then(|names| names.get_mut(name)) else {
            return false;
        };
        named.compares |= compares;
        named.has_others |= !compares;
        let may_compare = named.compares && !named.has_others;
        for limit in &mut named.limits {
            let is_reported = limit.numbers.iter().any(|number| reported.contains(number));
            limit.is_watched = may_compare || is_reported;
            match limit.is_watched {
                true if listed.insert(limit.place) => {
                    conditions.list(limit.place, refs, limit.ticks)
                }
                true => conditions.set_ticks(limit.place, limit.ticks),
                false => conditions.disable(limit.place),
            }
        }
        conditions.set_new(true);
        compares
    }

    /// Returns the numbers of the watched conditions that the manager does not know, and notes that
    /// it knows them.
    pub(crate) fn take_new(&mut self) -> Vec<u32> {
        self.conditions.set_new(false);
        let watched = self.limits().filter(|limit| limit.is_watched);
        let numbers = watched.flat_map(|limit| limit.numbers.iter().copied());
        let new: Vec<u32> = numbers.filter(|number| !self.reported.contains(number)).collect();
        self.reported.extend(&new);
        new
    }

    /// Returns the number of times that the conditions held since the last call, by the numbers of
    /// those that the manager knows to be watched.
    pub(crate) fn take_held(&self) -> Vec<(u32, u64)> {
        let mut held = Vec::new();
        for limit in self.limits().filter(|limit| limit.is_watched) {
            let times = self.conditions.take(limit.place);
            let numbers = limit.numbers.iter().filter(|number| self.reported.contains(number));
            held.extend(numbers.filter(|_| times != 0).map(|number| (*number, times)));
        }
        held
    }

    fn limits(&self) -> impl Iterator<Item = &Limit> {
        self.names.values().flat_map(BTreeMap::values).flat_map(|named| &named.limits)
    }
}

impl Named {
    fn add(&mut self, limit: &DurationLimit, place: u32) {
        match self.limits.iter_mut().find(|known| known.place == place) {
            Some(known) => known.numbers.push(limit.number),
            None => self.limits.push(Limit {
                ticks: limit.ticks,
                place,
                numbers: vec![limit.number],
                is_watched: false,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(number: u32, name: &str, ticks: u64) -> DurationLimit {
        DurationLimit { number, category: "web".to_owned(), name: name.to_owned(), ticks }
    }

    /// Returns conditions on durations beyond 5 and 9 ticks of `web/request`.
    fn watches() -> Watches {
        let conditions = Box::leak(Box::new(Conditions::new()));
        let mut watches = Watches::new(conditions);
        watches.request(&[limit(1, "request", 5), limit(2, "request", 9)]).unwrap();
        watches
    }

    #[test]
    fn conditions_are_reported_once_a_trace_point_compares() {
        let mut watches = watches();
        assert!(watches.has("web", "request") && !watches.has("web", "other"));
        assert!(!watches.conditions.has_new() && watches.take_new().is_empty());
        assert!(watches.add("web", "request", true, 7));
        assert!(watches.conditions.has_new());
        assert_eq!(watches.take_new(), [1, 2]);
        assert!(watches.add("web", "request", true, 7));
        assert!(watches.take_new().is_empty());
        watches.begin();
        assert!(watches.add("web", "request", true, 8));
        assert_eq!(watches.take_new(), [1, 2], "of another recording");
    }

    #[test]
    fn a_name_with_other_trace_points_is_not_watched() {
        for first in [true, false] {
            let mut watches = watches();
            watches.add("web", "request", first, 7);
            watches.add("web", "request", !first, 7);
            assert!(watches.take_new().is_empty());
        }
    }

    /// The manager evaluates it no more.
    #[test]
    fn a_reported_condition_stays_watched() {
        let mut watches = watches();
        watches.add("web", "request", true, 7);
        assert_eq!(watches.take_new(), [1, 2]);
        watches.add("web", "request", false, 7);
        assert!(watches.limits().all(|limit| limit.is_watched));
    }

    #[test]
    fn conditions_with_one_limit_share_a_place() {
        let mut watches = watches();
        let limits = [limit(1, "request", 5), limit(3, "request", 5), limit(4, "other", 5)];
        watches.request(&limits).unwrap();
        assert_eq!(watches.limits().count(), 2);
        watches.add("web", "request", true, 7);
        assert_eq!(watches.take_new(), [1, 3]);
    }
}
