//! Actions of alerts.

use trace_protocol::packet::{AlertName, MAX_ALERT_NAME};

/// An alert and its action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Trigger {
    /// The alert's name.
    pub(crate) alert: String,
    /// What it does.
    pub(crate) action: Action,
}

/// What an alert does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// Stops recording; the command continues.
    Stop,
    /// Stops recording and the command.
    Exit,
    /// Writes a snapshot; recording continues.
    Snapshot,
}

/// Parses `NAME:ACTION`. The name may contain a colon.
pub(crate) fn parse_trigger(text: &str) -> Result<Trigger, String> {
    let (alert, action) = text
        .rsplit_once(':')
        .ok_or_else(|| format!("'{text}' is not NAME:ACTION, such as slow:snapshot"))?;
    let action = match action {
        "stop" => Action::Stop,
        "exit" => Action::Exit,
        "snapshot" => Action::Snapshot,
        _ => return Err(format!("'{action}' is not an action: stop, exit or snapshot")),
    };
    match AlertName::new(alert) {
        Some(_) => Ok(Trigger { alert: alert.to_owned(), action }),
        None => Err(format!(
            "'{alert}' is not an alert name of 1 to {MAX_ALERT_NAME} bytes: it has {}",
            alert.len()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_actions() {
        let trigger = |alert: &str, action| Ok(Trigger { alert: alert.to_owned(), action });
        assert_eq!(parse_trigger("slow:stop"), trigger("slow", Action::Stop));
        assert_eq!(parse_trigger("low memory:exit"), trigger("low memory", Action::Exit));
        assert_eq!(parse_trigger("db:slow:snapshot"), trigger("db:slow", Action::Snapshot));
        assert_eq!(parse_trigger("fourteen bytes:stop"), trigger("fourteen bytes", Action::Stop));
    }

    #[test]
    fn invalid_triggers_are_refused() {
        for (wrong, why) in [
            ("slow", "is not NAME:ACTION"),
            ("slow:", "is not an action"),
            ("slow:restart", "'restart' is not an action"),
            (":stop", "1 to 14 bytes"),
            ("fifteen bytes!!:stop", "it has 15"),
            ("a\0:stop", "1 to 14 bytes"),
        ] {
            let error = parse_trigger(wrong).unwrap_err();
            assert!(error.contains(why), "{wrong:?}: {error}");
        }
    }
}
