//! What alerts do.

use trace_protocol::packet::{AlertName, MAX_ALERT_NAME};

/// What an alert does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Trigger {
    /// The alert's name.
    pub(crate) alert: String,
    /// What happens then.
    pub(crate) action: Action,
}

/// What happens when an alert is raised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// Recording ends, and the command goes on.
    Stop,
    /// Recording and command end.
    Exit,
    /// What has been recorded so far is written, and all goes on.
    Snapshot,
}

/// Parses `NAME:ACTION`. The name may have a colon in it.
pub(crate) fn parse_trigger(text: &str) -> Result<Trigger, String> {
    let (alert, action) = text
        .rsplit_once(':')
        .ok_or_else(|| format!("expected NAME:ACTION, such as slow:snapshot, found '{text}'"))?;
    let action = match action {
        "stop" => Action::Stop,
        "exit" => Action::Exit,
        "snapshot" => Action::Snapshot,
        _ => {
            return Err(format!(
                "expected stop, snapshot or exit behind the colon, found '{action}'"
            ))
        }
    };
    match AlertName::new(alert) {
        Some(_) => Ok(Trigger { alert: alert.to_owned(), action }),
        None => Err(format!(
            "expected an alert's name of 1 to {MAX_ALERT_NAME} bytes, found '{alert}' with {}",
            alert.len()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_and_what_it_does() {
        let trigger = |alert: &str, action| Ok(Trigger { alert: alert.to_owned(), action });
        assert_eq!(parse_trigger("slow:stop"), trigger("slow", Action::Stop));
        assert_eq!(parse_trigger("low memory:exit"), trigger("low memory", Action::Exit));
        assert_eq!(parse_trigger("db:slow:snapshot"), trigger("db:slow", Action::Snapshot));
        assert_eq!(parse_trigger("fourteen bytes:stop"), trigger("fourteen bytes", Action::Stop));
    }

    #[test]
    fn what_can_never_happen_is_refused() {
        for (wrong, why) in [
            ("slow", "expected NAME:ACTION"),
            ("slow:", "expected stop, snapshot or exit"),
            ("slow:restart", "found 'restart'"),
            (":stop", "1 to 14 bytes"),
            ("fifteen bytes!!:stop", "with 15"),
            ("a\0:stop", "1 to 14 bytes"),
        ] {
            let error = parse_trigger(wrong).unwrap_err();
            assert!(error.contains(why), "{wrong:?}: {error}");
        }
    }
}
