//! Versions of XRay logs.

use trace_xray::layout::Version;

/// Parses the version of a log, 1 to 5.
pub(crate) fn parse_log_version(text: &str) -> Result<Version, String> {
    let version = text.parse().ok().and_then(Version::from_number);
    version.ok_or_else(|| "is not a version from 1 to 5".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_known() {
        assert_eq!(parse_log_version("1"), Ok(Version::V1));
        assert_eq!(parse_log_version("5"), Ok(Version::V5));
        for text in ["0", "6", "x", ""] {
            assert!(parse_log_version(text).is_err(), "{text}");
        }
    }
}
