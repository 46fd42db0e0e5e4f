//! Percentages.

/// Reads a percentage such as `5%` or `0.5`. The sign is optional.
pub(crate) fn parse_share(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches('%').trim_end();
    match number.parse::<f64>() {
        Ok(percent) if percent.is_finite() && percent >= 0.0 => Ok(percent / 100.0),
        _ => Err(format!("'{text}' is not a percentage such as 5% or 0.5%")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percent() {
        assert_eq!(parse_share("5%"), Ok(0.05));
        assert_eq!(parse_share("50 %"), Ok(0.5));
        assert_eq!(parse_share("0"), Ok(0.0));
        for wrong in ["", "%", "-1%", "NaN", "five"] {
            assert!(parse_share(wrong).is_err(), "{wrong}");
        }
    }
}
