//! Drawing with ratatui.

use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style, Stylize};
use ratatui::text::Line;
use ratatui::widgets::{Paragraph, Row as Cells, Table};
use ratatui::Frame;

use super::rows::{Order, Row};
use super::state::App;
use crate::message::counted;
use crate::table::human_nanos;

/// The most lines of counters, with their head.
const COUNTERS: u16 = 6;

/// The widths of the columns of numbers.
const WIDTHS: [u16; 5] = [6, 9, 8, 8, 8];

const KEYS: &str = "q quit  p pause  s sort  / filter  Esc clear  arrows scroll";

/// Draws a picture. It is complete in 80 columns and 24 lines.
pub(super) fn draw(frame: &mut Frame<'_>, app: &mut App) {
    let counters = match app.counters.len() {
        0 => 0,
        number => u16::try_from(number + 1).unwrap_or(COUNTERS).min(COUNTERS),
    };
    let lines = [
        Constraint::Length(2),
        Constraint::Min(3),
        Constraint::Length(counters),
        Constraint::Length(1),
    ];
    let [head, scopes, counter_area, foot] = Layout::vertical(lines).areas(frame.area());
    draw_head(frame, app, head);
    draw_scopes(frame, app, scopes);
    draw_counters(frame, app, counter_area);
    let text = match app.is_editing {
        true => format!("filter: {}_", app.filter),
        false => KEYS.to_owned(),
    };
    frame.render_widget(Paragraph::new(text), foot);
}

fn draw_head(frame: &mut Frame<'_>, app: &App, area: Rect) {
    let state = match (app.has_ended, app.is_paused) {
        (true, _) => "ended",
        (false, true) => "paused",
        (false, false) => "live",
    };
    let input = if app.input.is_empty() { "the session" } else { &app.input };
    let seconds = app.window.as_secs_f64();
    let filter = match app.filter.is_empty() {
        true => String::new(),
        false => format!(", filter \"{}\"", app.filter),
    };
    let first = format!("{input}: {state}, last {seconds} s, by {}{filter}", app.order.head());
    let malformed = match app.malformed {
        0 => String::new(),
        number => format!(", {number} malformed"),
    };
    let second = format!(
        "{:.0} events/s, {} lost{malformed}, {}: {}",
        app.events_per_second,
        app.lost,
        counted(app.providers.len() as u64, "program", "programs"),
        app.providers.join(", ")
    );
    let style = if app.lost > 0 { Style::new().bold() } else { Style::new() };
    let lines = vec![Line::from(first).bold(), Line::from(second).style(style)];
    frame.render_widget(Paragraph::new(lines), area);
}

fn draw_scopes(frame: &mut Frame<'_>, app: &mut App, area: Rect) {
    let visible = usize::from(area.height.saturating_sub(1));
    app.offset = app.offset.min(app.rows.len().saturating_sub(visible));
    let shown = app.rows.iter().skip(app.offset).take(visible);
    let heads = Order::ALL.map(|order| match (order == app.order, order) {
        (true, Order::Name) => format!("{}*", order.head()),
        (true, _) => right(&format!("*{}", order.head()), width(order)),
        (false, Order::Name) => order.head().to_owned(),
        (false, _) => right(order.head(), width(order)),
    });
    let widths = WIDTHS.map(Constraint::Length).into_iter().chain([Constraint::Min(20)]);
    let table = Table::new(shown.map(|row| Cells::new(cells(row))), widths)
        .header(Cells::new(heads).style(Style::new().add_modifier(Modifier::REVERSED)))
        .column_spacing(1);
    frame.render_widget(table, area);
}

/// Returns the cells of a row, in the order of [`Order::ALL`].
fn cells(row: &Row) -> [String; 6] {
    let [load, rate, mean, p99, max] = WIDTHS;
    [
        right(&format!("{:.1}%", row.load * 100.0), load),
        right(&human_rate(row.rate), rate),
        right(&human_nanos(row.mean), mean),
        right(&human_nanos(row.p99), p99),
        right(&human_nanos(row.max), max),
        row.name.clone(),
    ]
}

fn width(order: Order) -> u16 {
    let index = Order::ALL.iter().position(|it| *it == order).unwrap_or(0);
    WIDTHS.get(index).copied().unwrap_or(0)
}

fn right(text: &str, width: u16) -> String {
    format!("{text:>width$}", width = usize::from(width))
}

pub(super) fn human_rate(rate: f64) -> String {
    match rate {
        0.0..1e4 => format!("{rate:.1}/s"),
        1e4..1e7 => format!("{:.1}k/s", rate / 1e3),
        _ => format!("{:.1}M/s", rate / 1e6),
    }
}

fn draw_counters(frame: &mut Frame<'_>, app: &App, area: Rect) {
    let rows = app.counters.iter().take(usize::from(area.height.saturating_sub(1)));
    let rows = rows.map(|(name, value)| Cells::new([right(&number(*value), 16), name.clone()]));
    let head = Cells::new([right("COUNTER", 16), "NAME".to_owned()]);
    let table = Table::new(rows, [Constraint::Length(16), Constraint::Min(20)])
        .header(head.style(Style::new().add_modifier(Modifier::REVERSED)))
        .column_spacing(1);
    frame.render_widget(table, area);
}

fn number(value: f64) -> String {
    match value.fract() == 0.0 && value.abs() < 1e15 {
        true => format!("{value:.0}"),
        false => format!("{value:.3}"),
    }
}
