//! Tests of `categories::change` by the categories that programs record.

use trace_protocol::categories::{self, CategorySet};

use super::SessionConfig;

const PROGRAMS: [&str; 2] = ["web", "db"];
const CATEGORIES: [&str; 4] = ["a", "ab", "b", "c"];
const PATTERNS: [&str; 10] =
    ["*", "a", "a*", "ab", "b", "web/*", "web/a", "web/a*", "web/ab", "db/b"];

/// Returns whether each program records each category.
fn selected(patterns: &[String]) -> Vec<bool> {
    let mut config = SessionConfig::default();
    config.select(patterns);
    let of_program = |program| {
        let set = CategorySet::new(&config.categories_for(program, &config.categories));
        CATEGORIES.map(|category| set.matches(category))
    };
    PROGRAMS.into_iter().flat_map(of_program).collect()
}

/// Returns whether a change by this pattern affects each category of each program.
fn affected(pattern: &str) -> Vec<bool> {
    let (name, pattern) = pattern.split_once('/').map_or((None, pattern), |it| (Some(it.0), it.1));
    let set = CategorySet::new(&[pattern]);
    let of_program = |program| {
        let is_meant = name.is_none_or(|name| name == program);
        CATEGORIES.map(|category| is_meant && set.matches(category))
    };
    PROGRAMS.into_iter().flat_map(of_program).collect()
}

/// Returns all lists of at most three patterns.
fn lists() -> Vec<Vec<String>> {
    let signed = PATTERNS.iter().flat_map(|it| [it.to_string(), format!("-{it}")]);
    let signed: Vec<String> = signed.collect();
    let mut lists = vec![Vec::new()];
    for pattern in &signed {
        let shorter = lists.iter().filter(|list| list.len() < 3);
        let longer: Vec<_> =
            shorter.map(|it| [it.as_slice(), std::slice::from_ref(pattern)].concat()).collect();
        lists.extend(longer);
    }
    lists
}

#[test]
fn added_categories_are_selected_beside_the_earlier_ones() {
    for (list, added) in lists().iter().flat_map(|list| PATTERNS.map(|added| (list, added))) {
        let changed = categories::change(list, &[added.to_owned()], &[]);
        let (before, after) = (selected(list), selected(&changed));
        for ((before, added_now), after) in before.into_iter().zip(affected(added)).zip(after) {
            assert!(after || !before && !added_now, "{list:?} + {added}: {changed:?}");
        }
    }
}

#[test]
fn only_removed_categories_are_not_selected_any_more() {
    for (list, removed) in lists().iter().flat_map(|list| PATTERNS.map(|removed| (list, removed))) {
        let changed = categories::change(list, &[], &[removed.to_owned()]);
        let expected: Vec<bool> = selected(list)
            .into_iter()
            .zip(affected(removed))
            .map(|(before, removed_now)| before && !removed_now)
            .collect();
        assert_eq!(selected(&changed), expected, "{list:?} - {removed}: {changed:?}");
    }
}
