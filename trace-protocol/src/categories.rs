//! The category patterns of a session.
//!
//! A pattern is a category's name, a prefix (`gfx*`), or either with a leading `-`, which excludes
//! the category (`-gfx:vsync`, `-gfx*`). `*` matches every category, and so does a set without
//! inclusions. Exclusions take precedence.

mod change;

use std::collections::HashSet;

pub use change::change;

/// The most patterns that a provider accepts.
pub const MAX_PATTERNS: usize = 4096;

/// The most bytes of all patterns that a provider accepts.
pub const MAX_PATTERN_BYTES: usize = 64 << 10;

/// The pattern that excludes all categories.
pub const NONE: &str = "-*";

/// Returns whether a provider accepts these patterns.
pub fn are_accepted(patterns: &[String]) -> bool {
    let bytes: usize = patterns.iter().map(String::len).sum();
    patterns.len() <= MAX_PATTERNS && bytes <= MAX_PATTERN_BYTES
}

/// A set of category patterns.
///
/// ```
/// use trace_protocol::categories::CategorySet;
///
/// let set = CategorySet::new(&["gfx*", "-gfx:vsync", "io"]);
/// assert!(set.matches("gfx:frame") && set.matches("io"));
/// assert!(!set.matches("gfx:vsync") && !set.matches("ion"));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CategorySet {
    patterns: Vec<String>,
    included: Vec<Pattern>,
    excluded: Vec<Pattern>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Pattern {
    Exact(String),
    Prefix(String),
}

impl Pattern {
    fn new(text: &str) -> Self {
        match text.strip_suffix('*') {
            Some(prefix) => Self::Prefix(prefix.to_owned()),
            None => Self::Exact(text.to_owned()),
        }
    }

    fn matches(&self, category: &str) -> bool {
        match self {
            Self::Exact(name) => name == category,
            Self::Prefix(prefix) => category.starts_with(prefix.as_str()),
        }
    }
}

impl CategorySet {
    /// Creates a set of patterns. Empty patterns are ignored.
    pub fn new(patterns: &[impl AsRef<str>]) -> Self {
        let mut set = Self::default();
        for text in patterns.iter().map(AsRef::as_ref).filter(|text| !text.is_empty()) {
            match text.strip_prefix('-') {
                Some(excluded) => set.excluded.push(Pattern::new(excluded)),
                None => set.included.push(Pattern::new(text)),
            }
            set.patterns.push(text.to_owned());
        }
        set
    }

    /// Returns whether the set includes `category`.
    pub fn matches(&self, category: &str) -> bool {
        let included =
            self.included.is_empty() || self.included.iter().any(|p| p.matches(category));
        included && !self.excluded.iter().any(|p| p.matches(category))
    }

    /// Returns the patterns without the empty ones, in the original order.
    pub fn patterns(&self) -> &[String] {
        &self.patterns
    }

    /// Returns the inclusions that match none of `categories`, except `*`: the categories that a
    /// user selected and no program has.
    pub fn unmatched<'a>(&'a self, categories: &[impl AsRef<str>]) -> Vec<&'a str> {
        let inclusions = self.patterns.iter().filter(|text| !text.starts_with('-') && *text != "*");
        inclusions
            .filter(|text| {
                let pattern = Pattern::new(text);
                !categories.iter().any(|category| pattern.matches(category.as_ref()))
            })
            .map(String::as_str)
            .collect()
    }
}

/// Returns patterns that match at least every category that one of the lists matches.
///
/// Only exclusions that are in all lists are kept, so the result may match more categories.
pub fn union(lists: &[&[String]]) -> Vec<String> {
    let some: Vec<&[String]> =
        lists.iter().copied().filter(|list| !list.iter().any(|text| text == NONE)).collect();
    let lists = match some.is_empty() {
        true => lists,
        false => &some,
    };
    if let [list] = lists {
        return list.to_vec();
    }
    let has_inclusions = |list: &[String]| list.iter().any(|text| is_inclusion(text));
    let has_all = !lists.iter().all(|list| has_inclusions(list));
    let inclusions = lists.iter().copied().flatten().filter(|text| !has_all && is_inclusion(text));
    let [first, others @ ..] = lists else { return Vec::new() };
    let others: Vec<HashSet<&String>> = others.iter().map(|list| list.iter().collect()).collect();
    let exclusions = first.iter().filter(|text| text.starts_with('-'));
    let exclusions = exclusions.filter(|text| others.iter().all(|other| other.contains(text)));
    let mut found = HashSet::new();
    inclusions.chain(exclusions).filter(|text| found.insert(*text)).cloned().collect()
}

fn is_inclusion(text: &str) -> bool {
    !text.is_empty() && !text.starts_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn categories_are_added_and_removed() {
        let list = |texts: &[&str]| texts.iter().map(|it| it.to_string()).collect::<Vec<_>>();
        for (patterns, add, remove, expected) in [
            // All are selected already.
            (&[][..], &["a"][..], &[][..], &[][..]),
            (&["-a", "-b"], &["a"], &[], &["-b"]),
            (&[], &[], &["a"], &["-a"]),
            (&["a"], &["b", "a"], &[], &["a", "b"]),
            (&["a", "b"], &[], &["a"], &["b"]),
            (&["a"], &[], &["a"], &["-*"]),
            (&["-*"], &["a"], &[], &["a"]),
            (&["a*", "a1"], &[], &["a1"], &["a*", "-a1"]),
            (&["a*", "-a1"], &["a1"], &[], &["a*", "a1"]),
            (&["a"], &[], &["b"], &["a"]),
            (&["a"], &[], &["b*"], &["a"]),
            (&["a", "b1"], &[], &["b*"], &["a"]),
            (&["*"], &[], &["b*"], &["*", "-b*"]),
            (&["*", "-b*"], &[], &["b1"], &["*", "-b*"]),
            // An exclusion cannot have exceptions.
            (&["*", "-b*"], &["b1"], &[], &["*", "b1"]),
            (&["a", "web/b"], &[], &["web/b"], &["a"]),
            (&["b"], &[], &["web/b"], &["b", "-web/b"]),
            // `-web/b` alone would select nothing of other programs.
            (&[], &[], &["web/b"], &["*", "-web/b"]),
            (&["a", "-b"], &["web/b"], &[], &["a", "web/b"]),
            (&["web/b", "x"], &[], &["b"], &["x"]),
            (&["app/*"], &[], &["x"], &["app/*", "x", "-x"]),
            (&["a", "-b1"], &["b*"], &[], &["a", "b*"]),
            (&["-gfx:vsync"], &["*"], &[], &[]),
        ] {
            let changed = change(&list(patterns), &list(add), &list(remove));
            assert_eq!(changed, expected, "{patterns:?} + {add:?} - {remove:?}");
        }
    }

    #[test]
    fn a_union_matches_the_categories_of_each_list() {
        let list = |texts: &[&str]| texts.iter().map(|text| text.to_string()).collect::<Vec<_>>();
        for (one, other, both) in [
            (&["a", "b"][..], &["b", "c*"][..], &["a", "b", "c*"][..]),
            (&["a"], &[], &[]),
            (&["-a"], &["b"], &[]),
            (&["gfx*", "-gfx:a"], &["gfx:a"], &["gfx*", "gfx:a"]),
            (&["gfx*", "-gfx:a"], &["-gfx:a"], &["-gfx:a"]),
            (&["*"], &["a"], &["*", "a"]),
            (&["-*"], &["a", "-b"], &["a", "-b"]),
            (&["-*"], &["-*"], &["-*"]),
        ] {
            let (one, other) = (list(one), list(other));
            assert_eq!(union(&[&one, &other]), list(both), "{one:?} {other:?}");
            assert_eq!(union(&[&one]), one);
        }
    }

    #[test]
    fn the_patterns_of_a_provider_are_limited() {
        let many = |number| vec!["a".to_owned(); number];
        assert!(are_accepted(&many(MAX_PATTERNS)) && !are_accepted(&many(MAX_PATTERNS + 1)));
        let long = |length| ["a".repeat(length)];
        assert!(are_accepted(&long(MAX_PATTERN_BYTES)));
        assert!(!are_accepted(&long(MAX_PATTERN_BYTES + 1)));
    }

    #[test]
    fn an_empty_set_matches_everything() {
        for patterns in [&[][..], &["*"], &[""]] {
            assert!(CategorySet::new(patterns).matches("any"), "{patterns:?}");
        }
    }

    #[test]
    fn names_match_whole_and_prefixes_match_beginnings() {
        let set = CategorySet::new(&["io", "gfx*"]);
        for (category, included) in [
            ("io", true),
            ("io2", false),
            ("gfx", true),
            ("gfx:a", true),
            ("g", false),
            ("", false),
        ] {
            assert_eq!(set.matches(category), included, "{category}");
        }
    }

    #[test]
    fn exclusions_take_precedence_in_any_order() {
        for patterns in [["-gfx:b*", "gfx*"], ["gfx*", "-gfx:b*"]] {
            let set = CategorySet::new(&patterns);
            assert!(set.matches("gfx:a"));
            assert!(!set.matches("gfx:bc"));
        }
        let exclusion = CategorySet::new(&["-io"]);
        assert!(exclusion.matches("gfx") && !exclusion.matches("io"));
        assert!(!CategorySet::new(&["-*"]).matches("io"));
    }

    #[test]
    fn unmatched_patterns_are_returned() {
        let set = CategorySet::new(&["io", "gfx*", "-x", "*", "net"]);
        assert_eq!(set.unmatched(&["io", "gfx:a"]), ["net"]);
        assert_eq!(set.unmatched(&[] as &[&str]), ["io", "gfx*", "net"]);
        assert_eq!(set.patterns().len(), 5);
    }
}
