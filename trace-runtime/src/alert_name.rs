//! What the name of an alert may be: it travels in a packet of 16 bytes.

/// The longest name of an alert, in bytes.
const LONGEST: usize = 14;

/// Whether this can be the name of an alert.
pub(crate) const fn is_alert_name(name: &str) -> bool {
    let bytes = name.as_bytes();
    let mut at = 0;
    while at < bytes.len() && bytes[at] != 0 {
        at += 1;
    }
    at == bytes.len() && 1 <= at && at <= LONGEST
}

/// Refuses, at compile time, what cannot be the name of an alert.
#[doc(hidden)]
pub const fn check_alert_name(name: &str) {
    assert!(
        is_alert_name(name),
        "the name of an alert has 1 to 14 bytes, and no zero byte among them"
    );
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
