//! What a provider leaves out of its trace without dropping a record, and says so.

/// What is missing in a trace, though no record was dropped. An instant event of category `trace`
/// says so, with how many they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(usize)]
pub enum Omission {
    /// Trace points that are off, because the string table has no room for their strings.
    TracePoints = 0,
    /// Names of threads, tracks or the process that found no room.
    Names = 1,
    /// Alerts that were raised and not sent.
    Alerts = 2,
}

impl Omission {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 3] = [Self::TracePoints, Self::Names, Self::Alerts];

    /// The name of the argument that says how many they are, an unsigned 64-bit integer. There is
    /// no other argument.
    pub const NUMBER: &'static str = "number";

    /// The name of the event.
    pub const fn event(self) -> &'static str {
        match self {
            Self::TracePoints => "trace points left off: no room for their names",
            Self::Names => "names left off: no room for them",
            Self::Alerts => "alerts not sent",
        }
    }

    /// What they are, in the plural.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TracePoints => "trace points",
            Self::Names => "names",
            Self::Alerts => "alerts",
        }
    }
}
