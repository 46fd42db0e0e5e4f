//! The conditions of triggers and their text.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use trace_protocol::packet::{AlertName, MAX_ALERT_NAME};

use super::text::{no_action, text_of, time, without_rest};
use super::watch::DurationWatch;
use super::{LogLevel, TimeOfDay};

/// A condition of a trigger.
///
/// Its text is that of `trace record --trigger`, without the actions.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Condition {
    /// `alert:NAME`: a program raises this alert.
    Alert(String),
    /// `duration:CATEGORY/NAME>TIME`: a scope, an asynchronous operation or a flow ends that took
    /// longer. Polls of an operation do not count, and neither does the flow between them.
    Duration(DurationCondition),
    /// `counter:CATEGORY/NAME.SERIES>X for TIME`: a counter is over or under a value.
    Counter(CounterCondition),
    /// `log:LEVEL`: a log message of this level or a more severe one.
    Log(LogLevel),
    /// `drop`: records are dropped.
    Drop,
    /// `part`: a part of an archive that is cut has its name.
    Part,
    /// `death`: the command of `trace record`, or a program of another session, is ended by a
    /// signal or a panic.
    Death,
    /// `every:TIME`: the time since the session's start is a multiple of this one.
    Every(Duration),
    /// `at:HH:MM`: each day at this time, in UTC.
    At(TimeOfDay),
    /// `signal:NAME`: `trace record` gets this signal.
    Signal(TriggerSignal),
}

/// A limit of the time of scopes, asynchronous operations and flows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DurationCondition {
    /// The category.
    pub category: String,
    /// The name.
    pub name: String,
    /// The condition holds for longer ones.
    pub limit: Duration,
}

impl DurationCondition {
    /// Returns the condition for providers, which compare it at the end of a scope or operation.
    pub(super) fn watch(&self, number: u32, counter_rate: u64) -> DurationWatch {
        let nanos = self.limit.as_nanos();
        let ticks = nanos * u128::from(counter_rate) / 1_000_000_000;
        let bounded = |limit| u64::try_from(limit).unwrap_or(u64::MAX);
        DurationWatch {
            number,
            category: self.category.clone(),
            name: self.name.clone(),
            nanos: bounded(nanos),
            counter_ticks: bounded(ticks),
        }
    }
}

/// A limit of a counter.
#[derive(Debug, Clone, PartialEq)]
pub struct CounterCondition {
    pub(super) category: String,
    pub(super) name: String,
    /// The series; `None` for each of the counter.
    pub(super) series: Option<String>,
    pub(super) is_over: bool,
    /// Finite.
    pub(super) limit: f64,
    /// The time for which the value is beyond the limit before the condition holds.
    pub(super) lasting: Duration,
}

/// The limit is a number, because the parser accepts only finite ones.
impl Eq for CounterCondition {}

/// A signal of [`Condition::Signal`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TriggerSignal {
    /// `SIGUSR1`.
    Usr1,
    /// `SIGUSR2`.
    Usr2,
}

impl TriggerSignal {
    fn as_str(self) -> &'static str {
        match self {
            Self::Usr1 => "USR1",
            Self::Usr2 => "USR2",
        }
    }
}

/// The first word of each condition that has a colon after it.
const KEYWORDS: [&str; 7] = ["alert", "duration", "counter", "log", "every", "at", "signal"];

impl Condition {
    /// Returns whether a text is a condition by its first word, not the name of an alert.
    pub(super) fn has_keyword(text: &str) -> bool {
        match text.split_once(':') {
            Some((word, _)) => KEYWORDS.contains(&word) || is_bare(word),
            None => is_bare(text),
        }
    }

    /// Returns whether only the manager evaluates it, over records that it gets in streaming mode
    /// while they are recorded.
    pub(crate) fn needs_streaming(&self) -> bool {
        matches!(self, Self::Counter(_) | Self::Log(_))
    }

    /// Returns whether the manager evaluates it over collected records.
    pub(crate) fn needs_records(&self) -> bool {
        matches!(self, Self::Counter(_) | Self::Log(_) | Self::Duration(_))
    }

    /// Returns the category, the name and perhaps the series that a program must have for it.
    pub(super) fn texts(&self) -> Vec<&str> {
        match self {
            Self::Duration(condition) => vec![&condition.category, &condition.name],
            Self::Counter(CounterCondition { category, name, series, .. }) => {
                [category, name].into_iter().chain(series).map(String::as_str).collect()
            }
            _ => Vec::new(),
        }
    }
}

impl CounterCondition {
    /// Returns the series that it compares of a counter; `None` if it is about another counter.
    pub(super) fn series_of(&self, category: &[u8], name: &[u8]) -> Option<Series<'_>> {
        if self.category.as_bytes() != category {
            return None;
        }
        match (&self.series, name.strip_prefix(self.name.as_bytes())?) {
            (None, []) => Some(Series::All),
            (Some(series), []) => Some(Series::One(series)),
            // A counter's name may have a point.
            (Some(series), [b'.', rest @ ..]) if rest == series.as_bytes() => Some(Series::All),
            _ => None,
        }
    }

    /// Returns the name with the series behind a point, if there is one: a counter's name may have
    /// a point.
    pub(super) fn dotted_name(&self) -> Option<String> {
        self.series.as_ref().map(|series| format!("{}.{series}", self.name))
    }
}

/// The series of a counter that a condition compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Series<'a> {
    All,
    One(&'a str),
}

impl Series<'_> {
    pub(super) fn contains(self, name: &[u8]) -> bool {
        match self {
            Self::All => true,
            Self::One(series) => series.as_bytes() == name,
        }
    }
}

fn is_bare(word: &str) -> bool {
    matches!(word, "drop" | "death" | "part")
}

impl FromStr for Condition {
    type Err = String;

    /// Parses a condition. A text without one of the keywords is the name of an alert.
    fn from_str(text: &str) -> Result<Self, String> {
        if !Self::has_keyword(text) {
            return alert(text);
        }
        let (word, rest) = text.split_once(':').unwrap_or((text, ""));
        match (word, rest) {
            ("drop", "") => Ok(Self::Drop),
            ("death", "") => Ok(Self::Death),
            ("part", "") => Ok(Self::Part),
            ("drop" | "death" | "part", rest) => Err(no_action(rest)),
            ("alert", name) => alert(name),
            ("duration", rest) => rest.parse().map(Self::Duration),
            ("counter", rest) => rest.parse().map(Self::Counter),
            ("log", rest) => without_rest(rest)?.parse().map(Self::Log),
            ("every", rest) => time(without_rest(rest)?).map(Self::Every),
            ("at", rest) => rest.parse().map(Self::At),
            (_, rest) => without_rest(rest)?.parse().map(Self::Signal),
        }
    }
}

fn alert(name: &str) -> Result<Condition, String> {
    match AlertName::new(name) {
        Some(_) => Ok(Condition::Alert(name.to_owned())),
        None => Err(format!(
            "'{name}' is not an alert name of 1 to {MAX_ALERT_NAME} bytes: it has {}",
            name.len()
        )),
    }
}

/// Splits `CATEGORY/NAME>LIMIT` or `CATEGORY/NAME<LIMIT`. Returns the operator before the limit.
fn split_limit(text: &str) -> Option<(&str, &str, char, &str)> {
    let at = text.rfind(['>', '<'])?;
    let (left, right) = text.split_at(at);
    let operator = right.chars().next()?;
    let (category, name) = left.split_once('/').map(|(it, name)| (it, name.trim_end()))?;
    let is_named = !category.is_empty() && !name.is_empty();
    is_named.then_some((category, name, operator, right.get(1..)?.trim()))
}

impl FromStr for DurationCondition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some((category, name, '>', limit)) = split_limit(text) else {
            return Err(format!("'{text}' is not CATEGORY/NAME>TIME, such as web/request>50ms"));
        };
        let limit = time(without_rest(limit)?)?;
        Ok(Self { category: category.to_owned(), name: name.to_owned(), limit })
    }
}

impl FromStr for CounterCondition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_time = |rest: &str| !rest.contains(['>', '<']);
        let (compared, lasting) = match text.rsplit_once(" for ") {
            Some((compared, lasting)) if is_time(lasting) => {
                (compared, time(without_rest(lasting.trim())?)?)
            }
            _ => (text, Duration::ZERO),
        };
        let Some((category, name, operator, limit)) = split_limit(compared) else {
            return Err(format!(
                "'{text}' is not CATEGORY/NAME.SERIES>NUMBER, such as app/queue.depth>100, with \
                 '<' for less and ' for 2s' for a time"
            ));
        };
        let number = without_rest(limit)?;
        let limit = number.parse().ok().filter(|limit: &f64| limit.is_finite());
        let limit = limit.ok_or_else(|| format!("'{number}' is not a number"))?;
        let (name, series) = match name.rsplit_once('.') {
            Some((name, series)) if !name.is_empty() && !series.is_empty() => (name, Some(series)),
            _ => (name, None),
        };
        Ok(Self {
            category: category.to_owned(),
            name: name.to_owned(),
            series: series.map(str::to_owned),
            is_over: operator == '>',
            limit,
            lasting,
        })
    }
}

impl FromStr for TriggerSignal {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.strip_prefix("SIG").unwrap_or(text) {
            "USR1" => Ok(Self::Usr1),
            "USR2" => Ok(Self::Usr2),
            _ => Err(format!("'{text}' is not a signal of triggers: USR1 or USR2")),
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Alert(name) => write!(f, "alert:{name}"),
            Self::Duration(DurationCondition { category, name, limit }) => {
                write!(f, "duration:{category}/{name}>{}", text_of(*limit))
            }
            Self::Counter(counter) => write!(f, "counter:{counter}"),
            Self::Log(level) => write!(f, "log:{level}"),
            Self::Drop => f.write_str("drop"),
            Self::Part => f.write_str("part"),
            Self::Death => f.write_str("death"),
            Self::Every(time) => write!(f, "every:{}", text_of(*time)),
            Self::At(time) => write!(f, "at:{time}"),
            Self::Signal(signal) => write!(f, "signal:{}", signal.as_str()),
        }
    }
}

impl fmt::Display for CounterCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { category, name, series, is_over, limit, lasting } = self;
        write!(f, "{category}/{name}")?;
        if let Some(series) = series {
            write!(f, ".{series}")?;
        }
        write!(f, "{}{limit}", if *is_over { '>' } else { '<' })?;
        match lasting.is_zero() {
            true => Ok(()),
            false => write!(f, " for {}", text_of(*lasting)),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn round_trip(text: &str) -> Condition {
        let condition: Condition = text.parse().unwrap();
        assert_eq!(condition.to_string().parse(), Ok(condition.clone()), "{text}");
        condition
    }

    #[test]
    fn each_condition_has_a_text() {
        for text in [
            "alert:slow",
            "alert:log:slow",
            "duration:web/request>50ms",
            "duration:web/Vec<u8>::push>1.5s",
            "counter:app/queue.depth>100",
            "counter:app/queue<-2.5 for 2s",
            "counter:app/a.b.c>1000000",
            "log:error",
            "drop",
            "death",
            "part",
            "every:600s",
            "at:03:30",
            "signal:USR1",
        ] {
            assert_eq!(round_trip(text).to_string(), text);
        }
    }

    #[test]
    fn other_spellings_are_accepted() {
        for (text, canonical) in [
            ("slow", "alert:slow"),
            ("db:slow", "alert:db:slow"),
            ("every:10m", "every:600s"),
            ("log:WARNING", "log:warn"),
            ("signal:SIGUSR2", "signal:USR2"),
            ("duration:a/b > 10us", "duration:a/b>10us"),
            ("counter:a/b.c > 1e3 for 1m", "counter:a/b.c>1000 for 60s"),
        ] {
            assert_eq!(round_trip(text).to_string(), canonical);
        }
    }

    #[test]
    fn the_series_is_behind_the_last_point() {
        let Condition::Counter(counter) = round_trip("counter:a/b.c.d>1") else { panic!() };
        assert_eq!((&*counter.name, counter.series.as_deref()), ("b.c", Some("d")));
        for whole in ["b", "b.", ".c"] {
            let text = format!("counter:a/{whole}>1");
            let Condition::Counter(counter) = round_trip(&text) else { panic!() };
            assert_eq!((&*counter.name, counter.series), (whole, None));
        }
    }

    #[test]
    fn a_counters_name_may_have_the_series() {
        let Condition::Counter(one) = round_trip("counter:a/b.c>1") else { panic!() };
        let Condition::Counter(all) = round_trip("counter:a/b>1") else { panic!() };
        for (name, of_one, of_all) in [
            ("b", Some(Series::One("c")), Some(Series::All)),
            ("b.c", Some(Series::All), None),
            ("b.", None, None),
            ("bc", None, None),
            ("b.cd", None, None),
            ("x.c", None, None),
            ("", None, None),
        ] {
            assert_eq!(one.series_of(b"a", name.as_bytes()), of_one, "{name}");
            assert_eq!(all.series_of(b"a", name.as_bytes()), of_all, "{name}");
        }
        assert_eq!(one.series_of(b"ab", b"b"), None);
        assert!(Series::One("c").contains(b"c") && !Series::One("c").contains(b"cd"));
    }

    #[test]
    fn mistakes_are_named() {
        for (text, why) in [
            ("", "1 to 14 bytes"),
            ("alert:", "1 to 14 bytes"),
            ("alert:fifteen bytes!!", "it has 15"),
            ("duration:web/request", "is not CATEGORY/NAME>TIME"),
            ("duration:request>50ms", "is not CATEGORY/NAME>TIME"),
            ("duration:web/request<50ms", "is not CATEGORY/NAME>TIME"),
            ("duration:web/request>fast", "'fast' is not a time"),
            ("duration:web/request>50", "'50' has no unit: use '50ms' or '50s'"),
            ("counter:a/b.c>1 for 1.5", "'1.5' has no unit"),
            ("every:10", "'10' has no unit"),
            ("duration:web/request>50ms:go", "'go' is not an action"),
            ("counter:a/b.c", "is not CATEGORY/NAME.SERIES>NUMBER"),
            ("counter:a/b.c>many", "'many' is not a number"),
            ("counter:a/b.c>inf", "'inf' is not a number"),
            ("counter:a/b.c>1 for ever", "'ever' is not a time"),
            ("log:loud", "'loud' is not a log level"),
            ("log:error:go", "'go' is not an action"),
            ("drop:go", "'go' is not an action"),
            ("every:0s", "must be more than 0 s"),
            ("at:25:00", "'25:00' is not a time of day"),
            ("at:03:30:go", "'go' is not an action"),
            ("signal:KILL", "is not a signal of triggers"),
        ] {
            let error = text.parse::<Condition>().unwrap_err();
            assert!(error.contains(why), "{text:?}: {error}");
        }
    }

    proptest! {
        /// Whatever is accepted has a text that is accepted and means the same.
        #[test]
        fn texts_round_trip(
            word in "(alert:|duration:|counter:|log:|every:|at:|signal:|drop|death|)",
            rest in "[a-z0-9/.<>: ]{0,24}",
        ) {
            if let Ok(condition) = format!("{word}{rest}").parse::<Condition>() {
                prop_assert_eq!(condition.to_string().parse(), Ok(condition));
            }
        }

        #[test]
        fn limits_round_trip(
            limit in proptest::num::f64::NORMAL,
            nanos in 1..u64::MAX,
            over: bool,
        ) {
            let condition = Condition::Counter(CounterCondition {
                category: "a".to_owned(),
                name: "b".to_owned(),
                series: Some("c".to_owned()),
                is_over: over,
                limit,
                lasting: Duration::from_nanos(nanos),
            });
            prop_assert_eq!(condition.to_string().parse(), Ok(condition));
        }
    }
}
