//! Compile-time checks of the keys of a trace point: their number, and that they differ.

/// Returns the number of a trace point's keys.
///
/// # Panics
/// If there are more than 15 keys, or two are equal.
#[doc(hidden)]
#[must_use]
pub const fn count_keys(keys: &[&str]) -> usize {
    assert!(keys.len() <= 15, "a trace point has at most 15 arguments");
    check_distinct(keys);
    keys.len()
}

/// Returns the number of a traced future's keys.
///
/// # Panics
/// If there are more than 14 keys, or two are equal.
#[doc(hidden)]
#[must_use]
pub const fn count_future_keys(keys: &[&str]) -> usize {
    assert!(keys.len() <= 14, "a traced future has at most 14 arguments");
    check_distinct(keys);
    keys.len()
}

const fn check_distinct(keys: &[&str]) {
    let mut later = 1;
    while later < keys.len() {
        let mut earlier = 0;
        while earlier < later {
            assert!(
                !are_same(keys[earlier], keys[later]),
                "two arguments of a trace point have the same key"
            );
            earlier += 1;
        }
        later += 1;
    }
}

const fn are_same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    let mut at = 0;
    while at < a.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distinct_keys_are_counted() {
        assert_eq!(count_keys(&[]), 0);
        assert_eq!(count_keys(&["a", "b", "ab", "ba", ""]), 5);
    }

    #[test]
    fn equal_keys_are_found_at_any_position() {
        for keys in [&["a", "a"][..], &["a", "b", "a"], &["c", "ab", "b", "ab"], &["", ""]] {
            assert!(std::panic::catch_unwind(|| count_keys(keys)).is_err(), "{keys:?}");
        }
    }
}
