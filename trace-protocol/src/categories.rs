//! Which categories a session records.
//!
//! A pattern is a category's name, a prefix (`gfx*`), or either with `-` before it to leave the
//! category out (`-gfx:vsync`, `-gfx*`). `*` alone matches everything, and so does a set that only
//! leaves out, or an empty one. Leaving out wins.

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
    wanted: Vec<Pattern>,
    unwanted: Vec<Pattern>,
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
    /// Makes a set of `patterns`; empty texts are ignored.
    pub fn new(patterns: &[impl AsRef<str>]) -> Self {
        let mut set = Self::default();
        for text in patterns.iter().map(AsRef::as_ref).filter(|text| !text.is_empty()) {
            match text.strip_prefix('-') {
                Some(unwanted) => set.unwanted.push(Pattern::new(unwanted)),
                None => set.wanted.push(Pattern::new(text)),
            }
            set.patterns.push(text.to_owned());
        }
        set
    }

    /// Tells whether records of `category` are wanted.
    pub fn matches(&self, category: &str) -> bool {
        let wanted = self.wanted.is_empty() || self.wanted.iter().any(|p| p.matches(category));
        wanted && !self.unwanted.iter().any(|p| p.matches(category))
    }

    /// Returns the patterns as they were given.
    pub fn patterns(&self) -> &[String] {
        &self.patterns
    }

    /// Returns those patterns that ask for something narrower than everything and match none of
    /// `categories`: what a user asked for and nobody has.
    pub fn unmatched<'a>(&'a self, categories: &[impl AsRef<str>]) -> Vec<&'a str> {
        let asked = self.patterns.iter().filter(|text| !text.starts_with('-') && *text != "*");
        asked
            .filter(|text| {
                let pattern = Pattern::new(text);
                !categories.iter().any(|category| pattern.matches(category.as_ref()))
            })
            .map(String::as_str)
            .collect()
    }
}

/// Returns patterns for at least what any of the lists of patterns matches.
///
/// Patterns that only one list leaves out are not left out, so that there may be more.
pub fn union(lists: &[&[String]]) -> Vec<String> {
    if let [list] = lists {
        return list.to_vec();
    }
    let wanted = |list: &[String]| list.iter().any(|text| is_wanted(text));
    let mut union = Vec::<String>::new();
    if lists.iter().all(|list| wanted(list)) {
        let all = lists.iter().copied().flatten().filter(|text| is_wanted(text));
        all.for_each(|text| add(&mut union, text));
    }
    let unwanted = lists.first().copied().unwrap_or_default().iter();
    let unwanted = unwanted.filter(|text| text.starts_with('-'));
    for text in unwanted.filter(|text| lists.iter().all(|list| list.contains(text))) {
        add(&mut union, text);
    }
    union
}

fn is_wanted(text: &str) -> bool {
    !text.is_empty() && !text.starts_with('-')
}

fn add(union: &mut Vec<String>, text: &String) {
    if !union.contains(text) {
        union.push(text.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_union_has_what_each_list_has() {
        let list = |texts: &[&str]| texts.iter().map(|text| text.to_string()).collect::<Vec<_>>();
        for (one, other, both) in [
            (&["a", "b"][..], &["b", "c*"][..], &["a", "b", "c*"][..]),
            (&["a"], &[], &[]),
            (&["-a"], &["b"], &[]),
            (&["gfx*", "-gfx:a"], &["gfx:a"], &["gfx*", "gfx:a"]),
            (&["gfx*", "-gfx:a"], &["-gfx:a"], &["-gfx:a"]),
            (&["*"], &["a"], &["*", "a"]),
        ] {
            let (one, other) = (list(one), list(other));
            assert_eq!(union(&[&one, &other]), list(both), "{one:?} {other:?}");
            assert_eq!(union(&[&one]), one);
        }
    }

    #[test]
    fn nothing_asked_means_everything() {
        for patterns in [&[][..], &["*"], &[""]] {
            assert!(CategorySet::new(patterns).matches("any"), "{patterns:?}");
        }
    }

    #[test]
    fn names_match_whole_and_prefixes_match_beginnings() {
        let set = CategorySet::new(&["io", "gfx*"]);
        for (category, wanted) in [
            ("io", true),
            ("io2", false),
            ("gfx", true),
            ("gfx:a", true),
            ("g", false),
            ("", false),
        ] {
            assert_eq!(set.matches(category), wanted, "{category}");
        }
    }

    #[test]
    fn leaving_out_wins_in_any_order() {
        for patterns in [["-gfx:b*", "gfx*"], ["gfx*", "-gfx:b*"]] {
            let set = CategorySet::new(&patterns);
            assert!(set.matches("gfx:a"));
            assert!(!set.matches("gfx:bc"));
        }
        let only_out = CategorySet::new(&["-io"]);
        assert!(only_out.matches("gfx") && !only_out.matches("io"));
        assert!(!CategorySet::new(&["-*"]).matches("io"));
    }

    #[test]
    fn unmatched_patterns_are_named() {
        let set = CategorySet::new(&["io", "gfx*", "-x", "*", "net"]);
        assert_eq!(set.unmatched(&["io", "gfx:a"]), ["net"]);
        assert_eq!(set.unmatched(&[] as &[&str]), ["io", "gfx*", "net"]);
        assert_eq!(set.patterns().len(), 5);
    }
}
