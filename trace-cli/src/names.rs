//! The names that `-n` selects.

/// The patterns of `-n`: `NAME`, `CATEGORY:NAME` as tables print it, and either with a `*` at its
/// end or a leading `-`, which excludes and wins. No pattern selects all names.
#[derive(Debug, Default)]
pub(crate) struct Names(Vec<Pattern>);

#[derive(Debug)]
struct Pattern {
    /// Without the leading `-` and the `*`.
    text: String,
    is_exclusion: bool,
    is_prefix: bool,
}

impl Names {
    pub(crate) fn new(patterns: &[String]) -> Self {
        Self(patterns.iter().map(|text| Pattern::new(text)).collect())
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
    ) -> Vec<String> {
        let inclusions = self.0.iter().filter(|it| !it.is_exclusion && !it.is_all());
        let is_unmatched = |pattern: &&Pattern| {
            !labels.clone().any(|(category, name)| pattern.matches(category, name))
        };
        inclusions.filter(is_unmatched).map(Pattern::text).collect()
    }

    /// Returns the selected names, without those that a pattern with a `*` selects.
    pub(crate) fn exact(&self) -> impl Iterator<Item = &str> {
        let exact = self.0.iter().filter(|pattern| !pattern.is_exclusion && !pattern.is_prefix);
        exact.map(|pattern| &*pattern.text)
    }
}

impl Pattern {
    fn new(text: &str) -> Self {
        let (is_exclusion, text) = match text.strip_prefix('-') {
            Some(excluded) => (true, excluded),
            None => (false, text),
        };
        let (is_prefix, text) = match text.strip_suffix('*') {
            Some(prefix) => (true, prefix),
            None => (false, text),
        };
        Self { text: text.to_owned(), is_exclusion, is_prefix }
    }

    fn is_all(&self) -> bool {
        self.is_prefix && self.text.is_empty()
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

    fn text(&self) -> String {
        format!("{}{}", self.text, if self.is_prefix { "*" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(patterns: &[&str]) -> Names {
        Names::new(&patterns.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>())
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
        assert_eq!(names.unmatched(labels.into_iter()), ["db:decode", "z*"]);
        assert_eq!(names.exact().collect::<Vec<_>>(), ["query", "db:query", "db:decode"]);
    }
}
