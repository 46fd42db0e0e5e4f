//! The causes of snapshots and of a session's end.

use std::fmt;

use super::Condition;

/// The cause of a snapshot or of a session's end: an alert or another condition of a trigger.
///
/// A program chooses the names of its alerts, so that an alert may have the text of a condition.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// The alert of this name.
    Alert(String),
    /// The condition with this text.
    Condition(String),
}

impl Cause {
    /// Returns the names of the alerts and the texts of the other conditions.
    pub fn split(causes: &[Self]) -> (Vec<String>, Vec<String>) {
        let (mut alerts, mut conditions) = (Vec::new(), Vec::new());
        for cause in causes {
            match cause {
                Self::Alert(name) => alerts.push(name.clone()),
                Self::Condition(text) => conditions.push(text.clone()),
            }
        }
        (alerts, conditions)
    }

    /// Returns the cause that is this alert or this condition, if there is one.
    pub(crate) fn either(alert: Option<String>, condition: Option<String>) -> Option<Self> {
        alert.map(Self::Alert).or(condition.map(Self::Condition))
    }

    /// Returns the causes with these names of alerts and texts of other conditions.
    pub(crate) fn join(alerts: Vec<String>, conditions: Vec<String>) -> Vec<Self> {
        let conditions = conditions.into_iter().map(Self::Condition);
        alerts.into_iter().map(Self::Alert).chain(conditions).collect()
    }
}

impl From<&Condition> for Cause {
    fn from(condition: &Condition) -> Self {
        match condition {
            Condition::Alert(name) => Self::Alert(name.clone()),
            condition => Self::Condition(condition.to_string()),
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Alert(name) => write!(f, "alert:{name}"),
            Self::Condition(text) => f.write_str(text),
        }
    }
}
