//! Output that is not a terminal: a table for each interval, or a line of JSON.

use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::{json, Value};

use super::rows::{rows, Order, Row};
use super::screen::human_rate;
use super::window::Window;
use super::{Feed, TIMEOUT};
use crate::cli::TopArgs;
use crate::live::State;
use crate::message::counted;
use crate::table::{self, human_nanos, Table};

/// The time between two tables.
const INTERVAL: Duration = Duration::from_secs(1);

/// Prints the window every second, and at the end of the session.
pub(super) fn print(args: &TopArgs, feed: &mut Feed) -> Result<()> {
    let mut printed = Instant::now();
    let mut left = args.count;
    loop {
        let state = feed.advance(TIMEOUT)?;
        if state == State::Ended || printed.elapsed() >= INTERVAL {
            printed = Instant::now();
            table::print(&text(args, &feed.window))?;
            left = left.map(|left| left.saturating_sub(1));
        }
        if state == State::Ended || left == Some(0) {
            return Ok(());
        }
    }
}

pub(super) fn text(args: &TopArgs, window: &Window) -> String {
    let mut rows = rows(window, Order::default(), "");
    rows.truncate(args.limit);
    match args.json {
        true => format!("{}\n", as_json(window, &rows)),
        false => as_table(window, &rows),
    }
}

fn as_table(window: &Window, rows: &[Row]) -> String {
    let mut table = Table::new(vec!["load", "rate", "mean", "p99", "max", "name"], 5);
    for row in rows {
        table.push(vec![
            format!("{:.1}%", row.load * 100.0),
            human_rate(row.rate),
            human_nanos(row.mean),
            human_nanos(row.p99),
            human_nanos(row.max),
            row.name.clone(),
        ]);
    }
    let mut text = format!(
        "{:.0} events/s, {} lost, {}\n{}",
        window.events_per_second(),
        window.lost,
        counted(window.providers.len() as u64, "program", "programs"),
        table.text()
    );
    for (name, value) in &window.counters {
        text += &format!("counter {name} = {value}\n");
    }
    text + "\n"
}

fn as_json(window: &Window, rows: &[Row]) -> Value {
    let scope = |row: &Row| {
        json!({
            "name": row.name,
            "rate": row.rate,
            "mean_ns": row.mean,
            "p99_ns": row.p99,
            "max_ns": row.max,
            "load": row.load,
        })
    };
    json!({
        "seconds": window.seconds(),
        "events_per_second": window.events_per_second(),
        "lost": window.lost,
        "malformed": window.malformed,
        "programs": window.providers.values().collect::<Vec<_>>(),
        "scopes": rows.iter().map(scope).collect::<Vec<_>>(),
        "counters": window.counters,
    })
}
