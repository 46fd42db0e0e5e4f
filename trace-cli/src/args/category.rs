//! Categories.

/// Parses a category as `--categories` takes it: a name, `prefix*`, or one of these with `-` in
/// front.
pub(crate) fn parse_category(text: &str) -> Result<String, String> {
    let category = text.trim();
    let name = category.strip_prefix('-').unwrap_or(category);
    if name.is_empty() {
        return Err("expected a category, found none".to_owned());
    }
    match name.strip_suffix('*').unwrap_or(name).contains('*') {
        true => Err(format!("expected `*` at the end only, found it elsewhere in '{name}'")),
        false => Ok(category.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::parse_category;

    #[test]
    fn names_prefixes_and_exclusions() {
        for good in ["net", "net*", "*", "-net", "-net:verbose*"] {
            assert_eq!(parse_category(good).as_deref(), Ok(good));
        }
        assert_eq!(parse_category(" net ").as_deref(), Ok("net"));
    }

    #[test]
    fn what_would_match_nothing_is_refused() {
        for bad in ["", " ", "-", "a*b", "*a", "-*a"] {
            assert!(parse_category(bad).is_err(), "{bad:?}");
        }
    }
}
