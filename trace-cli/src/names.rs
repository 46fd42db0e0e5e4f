//! The names that `-n` selects.

use std::mem;

/// The patterns of all `-n`: `NAME`, `CATEGORY:NAME` as tables print it, and either with a `*` at
/// its end or a leading `-`, which excludes and wins. No pattern selects all names.
#[derive(Debug, Default)]
pub(crate) struct Names(Vec<Pattern>);

/// The patterns of one `-n`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NameList(Vec<Pattern>);

#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Pattern {
    /// Without the leading `-` and the `*`.
    text: String,
    is_exclusion: bool,
    is_prefix: bool,
}

/// An inclusion that matches nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unmatched<'a> {
    /// The name, without the `*`.
    pub(crate) text: &'a str,
    pub(crate) is_prefix: bool,
}

impl Unmatched<'_> {
    /// Returns the pattern as `-n` accepts it.
    pub(crate) fn pattern(&self) -> String {
        format!("{}{}", escaped(self.text), if self.is_prefix { "*" } else { "" })
    }
}

/// Returns a name as `-n` accepts it.
pub(crate) fn escaped(name: &str) -> String {
    let within = name.trim_matches(' ');
    let (before, after) = match name.find(within) {
        Some(before) => (before, name.len() - before - within.len()),
        None => (0, 0),
    };
    let mut escaped = r"\ ".repeat(before);
    for (place, character) in within.char_indices() {
        let is_last = place + character.len_utf8() == within.len() && after == 0;
        let is_special = match character {
            ',' | '\\' => true,
            '-' => place + before == 0,
            '*' => is_last,
            _ => false,
        };
        escaped.extend(is_special.then_some('\\').into_iter().chain([character]));
    }
    escaped + &r"\ ".repeat(after)
}

/// Parses a list of `-n`. A name can have any characters: a backslash before a comma, `*`, `-`,
/// blank or backslash makes that a part of the name.
pub(crate) fn parse_names(list: &str) -> Result<NameList, String> {
    let (mut patterns, mut draft) = (Vec::new(), Draft::default());
    let mut characters = list.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            ',' => patterns.push(mem::take(&mut draft).finish(list)?),
            '\\' => {
                let literal = characters.next_if(|it| matches!(it, ',' | '*' | '-' | ' ' | '\\'));
                draft.literal(literal.unwrap_or('\\'));
            }
            character => draft.push(character),
        }
    }
    patterns.push(draft.finish(list)?);
    Ok(NameList(patterns))
}

/// A pattern that is read.
#[derive(Debug, Default)]
struct Draft {
    text: String,
    /// The number of bytes that are a part of the name, whatever they are.
    literal: usize,
    is_exclusion: bool,
}

impl Draft {
    fn literal(&mut self, character: char) {
        self.text.push(character);
        self.literal = self.text.len();
    }

    fn push(&mut self, character: char) {
        match character {
            '-' if self.text.is_empty() && !self.is_exclusion => self.is_exclusion = true,
            ' ' if self.text.is_empty() => {}
            character => self.text.push(character),
        }
    }

    fn finish(self, list: &str) -> Result<Pattern, String> {
        let Self { text, literal, is_exclusion } = self;
        let (literal, rest) = text.split_at(literal);
        let rest = rest.trim_end_matches(' ');
        let (is_prefix, rest) = match rest.strip_suffix('*') {
            Some(rest) => (true, rest),
            None => (false, rest),
        };
        let text = format!("{literal}{rest}");
        match (&*text, is_exclusion) {
            ("", _) if !is_prefix => Err("the name is empty".to_owned()),
            ("-", true) if list.trim() == "--" => {
                Err("a list of names is missing before `--`".to_owned())
            }
            _ => Ok(Pattern { text, is_exclusion, is_prefix }),
        }
    }
}

impl Names {
    pub(crate) fn new(lists: &[NameList]) -> Self {
        Self(lists.iter().flat_map(|list| &list.0).cloned().collect())
    }

    /// Returns the pattern of one name, or of one with its category.
    pub(crate) fn of(text: &str) -> Self {
        Self(vec![Pattern { text: text.to_owned(), ..Pattern::default() }])
    }

    /// Returns whether events of this category and name are selected.
    pub(crate) fn matches(&self, category: &str, name: &str) -> bool {
        let is_in = |is_exclusion: bool| {
            let mut patterns = self.0.iter().filter(|it| it.is_exclusion == is_exclusion);
            patterns.any(|pattern| pattern.matches(category, name))
        };
        let has_inclusions = self.0.iter().any(|pattern| !pattern.is_exclusion);
        (!has_inclusions || is_in(false)) && !is_in(true)
    }

    /// Returns the inclusions that match none of the categories and names, except `*`.
    pub(crate) fn unmatched<'a>(
        &self,
        labels: impl Iterator<Item = (&'a str, &'a str)> + Clone,
    ) -> Vec<Unmatched<'_>> {
        let inclusions = self.0.iter().filter(|it| !it.is_exclusion && !it.is_all());
        let is_unmatched = |pattern: &&Pattern| {
            !labels.clone().any(|(category, name)| pattern.matches(category, name))
        };
        inclusions.filter(is_unmatched).map(Pattern::unmatched).collect()
    }

    /// Returns the selected names, without those that a pattern with a `*` selects.
    pub(crate) fn exact(&self) -> impl Iterator<Item = &str> {
        let exact = self.0.iter().filter(|pattern| !pattern.is_exclusion && !pattern.is_prefix);
        exact.map(|pattern| &*pattern.text)
    }
}

impl Pattern {
    fn is_all(&self) -> bool {
        self.is_prefix && self.text.is_empty()
    }

    fn unmatched(&self) -> Unmatched<'_> {
        Unmatched { text: &self.text, is_prefix: self.is_prefix }
    }

    fn matches(&self, category: &str, name: &str) -> bool {
        let behind_category =
            || self.text.strip_prefix(category).and_then(|rest| rest.strip_prefix(':'));
        self.is_name(&self.text, name) || behind_category().is_some_and(|it| self.is_name(it, name))
    }

    fn is_name(&self, text: &str, name: &str) -> bool {
        match self.is_prefix {
            true => name.starts_with(text),
            false => name == text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(lists: &[&str]) -> Names {
        Names::new(&lists.iter().map(|list| parse_names(list).unwrap()).collect::<Vec<_>>())
    }

    #[test]
    fn names_have_any_characters() {
        for (list, name, is_selected) in [
            ("/cart", "/cart", true),
            ("/cart*", "/cart/2", true),
            ("get /a/b, put", "get /a/b", true),
            ("get /a/b, put", "put", true),
            ("-/cart", "/cart", false),
            ("-/cart", "/", true),
            ("a*b", "a*b", true),
            ("a*b", "axb", false),
            (r"a\*", "a*", true),
            (r"a\*", "ab", false),
            (r"sum(int\, int)", "sum(int, int)", true),
            (r"\-x,y", "-x", true),
            (r"\ x\ ", " x ", true),
            (" x ", "x", true),
            (r"C:\a", r"C:\a", true),
            (r"a\\", r"a\", true),
            (r"\\*", r"\b", true),
            ("ü", "ü", true),
            ("\u{a0}x\t", "\u{a0}x\t", true),
            ("\u{a0}x", "x", false),
        ] {
            assert_eq!(names(&[list]).matches("web", name), is_selected, "{list} {name}");
        }
        assert!(names(&["web:/cart"]).matches("web", "/cart"));
        for bad in ["", " ", "-", "a,,b", "a,", "--"] {
            assert!(parse_names(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn escaped_names_are_accepted() {
        for (name, text) in [
            ("sum(int, int)", r"sum(int\, int)"),
            ("a*", r"a\*"),
            ("a*b", "a*b"),
            ("-x-y", r"\-x-y"),
            ("  x -", r"\ \ x -"),
            (" ", r"\ "),
            ("* ", r"*\ "),
            (r"C:\a", r"C:\\a"),
            ("\u{a0}ü\u{3000}", "\u{a0}ü\u{3000}"),
            ("-", r"\-"),
            ("*", r"\*"),
        ] {
            assert_eq!(escaped(name), text);
            assert_eq!(names(&[text]).exact().collect::<Vec<_>>(), [name]);
        }
    }

    #[test]
    fn names_with_and_without_their_category() {
        for (patterns, category, name, is_selected) in [
            (&["query"][..], "db", "query", true),
            (&["db:query"], "db", "query", true),
            (&["db:query"], "x", "db:query", true),
            (&["db:query"], "x", "query", false),
            (&["db:query"], "db", "queries", false),
            (&["db:*"], "db", "query", true),
            (&["db:qu*"], "db", "query", true),
            (&["db*"], "db", "query", false),
            (&["app::parse"], "xray", "app::parse", true),
            (&["-db:query"], "db", "query", false),
            (&["-db:query"], "x", "query", true),
            (&["q*", "-db:query"], "db", "query", false),
            (&["*"], "db", "query", true),
            (&[], "db", "query", true),
        ] {
            assert_eq!(names(patterns).matches(category, name), is_selected, "{patterns:?} {name}");
        }
    }

    #[test]
    fn inclusions_without_a_match() {
        let names = names(&["query", "db:query", "db:decode", "z*", "*", "-x"]);
        let labels = [("db", "query"), ("x", "decode")];
        let unmatched = names.unmatched(labels.into_iter());
        assert_eq!(
            unmatched.iter().map(Unmatched::pattern).collect::<Vec<_>>(),
            ["db:decode", "z*"]
        );
        assert_eq!(names.exact().collect::<Vec<_>>(), ["query", "db:query", "db:decode"]);
    }
}
