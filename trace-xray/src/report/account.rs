//! The times of each function.

use std::cmp::Reverse;

use super::{exponent, percentile, seconds, Calls};
use crate::map::Names;
use crate::record::FunctionId;

/// A column of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// The id of the function.
    Id,
    /// The number of calls.
    Count,
    /// The shortest call.
    Min,
    /// The median.
    Median,
    /// The 90th percentile.
    P90,
    /// The 99th percentile.
    P99,
    /// The longest call.
    Max,
    /// The sum of all calls.
    Sum,
    /// The name of the function.
    Name,
}

impl Field {
    /// All columns, in the order of llvm-xray.
    pub const ALL: &'static [Self] = &[
        Self::Id,
        Self::Count,
        Self::Min,
        Self::Median,
        Self::P90,
        Self::P99,
        Self::Max,
        Self::Sum,
        Self::Name,
    ];

    /// Returns the name that llvm-xray has for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Id => "funcid",
            Self::Count => "count",
            Self::Min => "min",
            Self::Median => "med",
            Self::P90 => "90p",
            Self::P99 => "99p",
            Self::Max => "max",
            Self::Sum => "sum",
            Self::Name => "func",
        }
    }
}

/// The times of a function, in ticks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The function.
    pub function: FunctionId,
    /// Its name.
    pub name: String,
    /// The number of calls.
    pub count: u64,
    /// The shortest call, the median, the percentiles 90 and 99, the longest call, the sum.
    pub ticks: [u64; 6],
}

/// The times of each function.
#[derive(Debug)]
pub struct Account {
    rate: u64,
    rows: Vec<Row>,
}

impl Account {
    /// Creates the table of all calls, in the order of ids.
    #[must_use]
    pub fn new(calls: &Calls, names: &mut Names) -> Self {
        let row = |(function, times): (&FunctionId, &trace_analyze::stats::Distribution)| Row {
            function: *function,
            name: names.get(*function).into_owned(),
            count: times.count(),
            ticks: [
                times.min(),
                percentile(times, 50),
                percentile(times, 90),
                percentile(times, 99),
                times.max(),
                times.sum(),
            ],
        };
        Self { rate: calls.rate(), rows: calls.functions.iter().map(row).collect() }
    }

    /// Returns the rows.
    #[must_use]
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Sorts the rows, and keeps the first `top` of them.
    pub fn sort(&mut self, field: Field, is_descending: bool, top: usize) {
        let number = |row: &Row, at: usize| row.ticks.get(at).copied().unwrap_or(0);
        let key = |row: &Row| match field {
            Field::Id | Field::Name => u64::from(row.function.number()),
            Field::Count => row.count,
            Field::Min => number(row, 0),
            Field::Median => number(row, 1),
            Field::P90 => number(row, 2),
            Field::P99 => number(row, 3),
            Field::Max => number(row, 4),
            Field::Sum => number(row, 5),
        };
        match (field, is_descending) {
            (Field::Name, false) => self.rows.sort_by(|a, b| a.name.cmp(&b.name)),
            (Field::Name, true) => self.rows.sort_by(|a, b| b.name.cmp(&a.name)),
            (_, false) => self.rows.sort_by_key(key),
            (_, true) => self.rows.sort_by_key(|row| Reverse(key(row))),
        }
        self.rows.truncate(top);
    }

    /// Returns the table as text, in seconds.
    #[must_use]
    pub fn text(&self) -> String {
        let heads =
            "   funcid      count [      min,       med,       90p,       99p,       max]       \
            sum  function";
        let mut text = format!("Functions with latencies: {}\n{heads}\n", self.rows.len());
        for Row { function, name, count, ticks } in &self.rows {
            let [times @ .., sum] = ticks.map(|ticks| format!("{:9.6}", seconds(ticks, self.rate)));
            let (number, times) = (function.number(), times.join(", "));
            text += &format!("{number:9} {count:10} [{times}] {sum}  {name}\n");
        }
        text
    }

    /// Returns the table as comma-separated values, in seconds.
    #[must_use]
    pub fn csv(&self) -> String {
        let mut text = "funcid,count,min,median,90%ile,99%ile,max,sum,debug,function\n".to_owned();
        for Row { function, name, count, ticks } in &self.rows {
            let times = ticks.map(|ticks| exponent(seconds(ticks, self.rate))).join(",");
            let name = name.replace('"', "\"\"");
            text += &format!("{},{count},{times},\"\",\"{name}\"\n", function.number());
        }
        text
    }
}
