//! Percentages.

/// Reads a percentage such as `5%` or `0.5%`. The sign is optional from 1 on: below, the number
/// could be meant as a fraction.
pub(crate) fn parse_share(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches('%').trim_end();
    let has_sign = text.trim_end().ends_with('%');
    match number.parse::<f64>() {
        Ok(percent) if percent > 0.0 && percent < 1.0 && !has_sign => {
            Err(format!("'{text}' could be a fraction; write {number}% if that is meant"))
        }
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
        assert_eq!((parse_share("0"), parse_share("0.0")), (Ok(0.0), Ok(0.0)));
        assert_eq!((parse_share("5"), parse_share("1")), (Ok(0.05), Ok(0.01)));
        assert_eq!(parse_share("0.5%"), Ok(0.005));
        for wrong in ["", "%", "-1%", "NaN", "five"] {
            assert!(parse_share(wrong).is_err(), "{wrong}");
        }
        let expected = "'0.25' could be a fraction; write 0.25% if that is meant";
        assert_eq!(parse_share("0.25"), Err(expected.to_owned()));
    }
}
