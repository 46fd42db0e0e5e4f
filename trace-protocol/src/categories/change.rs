//! Changing category patterns.

use std::collections::BTreeSet;

use super::{is_inclusion, NONE};

/// Adds and removes inclusions, each for all programs or for one (`PROGRAM/PATTERN`). The result
/// selects the categories of `add`, then none of `remove`. Exclusions that share a category with
/// `add` are dropped, because an exclusion cannot have exceptions.
///
/// ```
/// use trace_protocol::categories::change;
///
/// let patterns = |texts: &[&str]| texts.iter().map(|it| it.to_string()).collect::<Vec<_>>();
/// let changed = change(&patterns(&["gfx*", "io"]), &patterns(&["net"]), &patterns(&["gfx:vsync"]));
/// assert_eq!(changed, ["gfx*", "io", "net", "-gfx:vsync"]);
/// ```
pub fn change(patterns: &[String], add: &[String], remove: &[String]) -> Vec<String> {
    let mut selection = Selection::new(patterns);
    add.iter().for_each(|added| selection.add(added));
    remove.iter().for_each(|removed| selection.remove(removed));
    selection.into_patterns()
}

/// The patterns of all programs and of single ones. A category is selected if an inclusion matches
/// it and no exclusion, so that an empty list selects nothing.
struct Selection {
    patterns: Vec<String>,
    /// Whether the first pattern is `*` because the list had no inclusions.
    has_implied_all: bool,
}

impl Selection {
    fn new(patterns: &[String]) -> Self {
        let mut patterns: Vec<String> =
            patterns.iter().filter(|it| !it.is_empty()).cloned().collect();
        let is_restricted = patterns.iter().any(|it| is_inclusion(it) && is_general(it));
        let has_general = patterns.iter().any(|it| is_general(it));
        let selects_none = patterns.iter().any(|it| it == NONE);
        if selects_none || !has_general && !patterns.is_empty() {
            // Only the patterns of a program select categories of it.
            patterns.retain(|it| !is_general(it));
            include_all_of_excluding_programs(&mut patterns);
            return Self { patterns, has_implied_all: false };
        }
        if !is_restricted {
            patterns.insert(0, "*".to_owned());
        }
        Self { patterns, has_implied_all: !is_restricted }
    }

    fn add(&mut self, added: &str) {
        if is_inclusion(added) {
            self.patterns.retain(|it| is_inclusion(it) || !overlap(it, added));
        }
        if !self.has_implied_all && !self.patterns.iter().any(|it| it == added) {
            self.patterns.push(added.to_owned());
        }
    }

    fn remove(&mut self, removed: &str) {
        if !is_inclusion(removed) {
            return self.patterns.retain(|it| it != removed);
        }
        self.patterns.retain(|it| !is_inclusion(it) || !includes(removed, it));
        self.has_implied_all &= self.patterns.first().is_some_and(|it| it == "*");
        let is_excluded = self.patterns.iter().any(|it| !is_inclusion(it) && includes(it, removed));
        let is_included = self.patterns.iter().any(|it| is_inclusion(it) && overlap(it, removed));
        if is_included && !is_excluded {
            self.patterns.push(format!("-{removed}"));
        }
    }

    fn into_patterns(self) -> Vec<String> {
        let mut patterns = self.patterns;
        if !patterns.iter().any(|it| is_inclusion(it)) {
            return vec![NONE.to_owned()];
        }
        if !patterns.iter().any(|it| is_inclusion(it) && is_general(it)) {
            return only_of_programs(patterns);
        }
        let has_other_general = patterns.iter().skip(1).any(|it| is_general(it));
        if self.has_implied_all && (has_other_general || patterns.len() == 1) {
            patterns.remove(0);
        }
        patterns
    }
}

/// Adds an inclusion of all categories for each program that has only exclusions.
fn include_all_of_excluding_programs(patterns: &mut Vec<String>) {
    let programs = |patterns: &[String], is_included| -> BTreeSet<String> {
        let some = patterns.iter().filter(|it| is_inclusion(it) == is_included);
        some.filter_map(|it| parts(it).0.map(str::to_owned)).collect()
    };
    let (included, excluded) = (programs(patterns, true), programs(patterns, false));
    patterns.extend(excluded.difference(&included).map(|program| format!("{program}/*")));
}

/// Returns patterns whose inclusions are all of single programs, so that other programs record
/// nothing.
fn only_of_programs(patterns: Vec<String>) -> Vec<String> {
    let (mut patterns, mut exclusions): (Vec<_>, Vec<_>) =
        patterns.into_iter().partition(|it| is_inclusion(it));
    exclusions.retain(|exclusion| patterns.iter().any(|it| overlap(exclusion, it)));
    if let Some(exclusion) = exclusions.iter().find(|it| is_general(it)) {
        // Exclusions alone would select all other categories. This inclusion selects none.
        patterns.push(exclusion[1..].to_owned());
    }
    patterns.extend(exclusions);
    patterns
}

/// Returns the program, if the pattern is of a single one, and the pattern of its categories.
fn parts(pattern: &str) -> (Option<&str>, &str) {
    let pattern = pattern.strip_prefix('-').unwrap_or(pattern);
    pattern.split_once('/').map_or((None, pattern), |(program, own)| (Some(program), own))
}

/// Returns whether a pattern is of all programs.
fn is_general(pattern: &str) -> bool {
    parts(pattern).0.is_none()
}

/// Returns whether a pattern matches all categories that the other one matches, in all programs of
/// the other one. Whether they are exclusions does not matter.
fn includes(pattern: &str, other: &str) -> bool {
    let ((program, pattern), (other_program, other)) = (parts(pattern), parts(other));
    (program.is_none() || program == other_program) && covers(pattern, other)
}

/// Returns whether two patterns match the same category of some program.
fn overlap(one: &str, other: &str) -> bool {
    let ((program, one), (other_program, other)) = (parts(one), parts(other));
    let share_program = program.is_none() || other_program.is_none() || program == other_program;
    share_program && (covers(one, other) || covers(other, one))
}

/// Returns whether a pattern matches all categories that the other one matches.
fn covers(pattern: &str, other: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) => other.strip_suffix('*').unwrap_or(other).starts_with(prefix),
        None => pattern == other,
    }
}
