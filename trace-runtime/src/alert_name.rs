//! The rules for the name of an alert: it is sent in a packet of 16 bytes.

/// The longest name of an alert, in bytes.
const LONGEST: usize = 14;

/// Returns whether `name` is a valid name of an alert.
pub(crate) const fn is_alert_name(name: &str) -> bool {
    let bytes = name.as_bytes();
    let mut at = 0;
    while at < bytes.len() && bytes[at] != 0 {
        at += 1;
    }
    at == bytes.len() && 1 <= at && at <= LONGEST
}

/// Checks at compile time that `name` is a valid name of an alert.
///
/// # Panics
/// If it is empty, longer than 14 bytes, or has a zero byte.
#[doc(hidden)]
pub const fn check_alert_name(name: &str) {
    assert!(is_alert_name(name), "the name of an alert must have 1 to 14 bytes and no zero byte");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_one_to_fourteen_bytes() {
        for name in ["a", "fourteen bytes", "é"] {
            assert!(is_alert_name(name), "{name}");
        }
        for name in ["", "fifteen bytes!!", "a\0", "\0"] {
            assert!(!is_alert_name(name), "{name:?}");
        }
    }
}
