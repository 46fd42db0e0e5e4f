//! Categories.

/// Parses an item of `--categories`: a name or `prefix*`, with an optional leading `-`. Before it
/// may be the name of a program and a slash.
pub(crate) fn parse_category(text: &str) -> Result<String, String> {
    let category = text.trim();
    let name = category.strip_prefix('-').unwrap_or(category);
    let name = match name.split_once('/') {
        Some(("", _)) => {
            return Err(format!("the program's name before `/` is missing in '{name}'"))
        }
        Some((_, pattern)) => pattern.strip_prefix('-').unwrap_or(pattern),
        None => name,
    };
    if name.is_empty() {
        return Err("the category is empty".to_owned());
    }
    if category == "--" {
        return Err("a list of categories is missing before `--`".to_owned());
    }
    match name.strip_suffix('*').unwrap_or(name).contains('*') {
        true => Err(format!("`*` is allowed only at the end of '{name}'")),
        false => Ok(category.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::parse_category;

    #[test]
    fn names_prefixes_and_exclusions() {
        for good in
            ["net", "net*", "*", "-net", "-net:verbose*", "web/http*", "-web/log", "web/-log"]
        {
            assert_eq!(parse_category(good).as_deref(), Ok(good));
        }
        assert_eq!(parse_category(" net ").as_deref(), Ok("net"));
        assert!(parse_category("--").is_err());
    }

    #[test]
    fn patterns_without_a_match_are_refused() {
        for bad in ["", " ", "-", "a*b", "*a", "-*a", "web/", "/a", "web/a*b"] {
            assert!(parse_category(bad).is_err(), "{bad:?}");
        }
    }
}
