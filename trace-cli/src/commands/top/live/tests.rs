use std::time::Duration;

use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::Terminal;
use trace_format::record::{Argument, Event, EventKind, Metadata, Record, Thread, Value};
use trace_format::{encode, Decoder, ThreadKoids};
use trace_protocol::categories::CategorySet;

use super::rows::{rows, Order};
use super::screen::draw;
use super::state::{Action, App};
use super::window::Window;
use crate::cli::Filter;
use crate::live::{drain, Threads};
use crate::names::Names;

const SECOND: Duration = Duration::from_secs(1);

fn window(categories: &[&str]) -> Window {
    let categories: Vec<String> = categories.iter().map(|name| (*name).to_owned()).collect();
    let filter = Filter { categories: CategorySet::new(&categories), names: Names::default() };
    Window::new(5 * SECOND, filter, Threads::default())
}

fn event<'a>(name: &'a str, ticks: u64, kind: EventKind) -> Record<'a> {
    Record::Event(Event {
        ticks,
        thread: Thread::Inline(ThreadKoids::new(1, 2)),
        category: "web".into(),
        name: name.into(),
        kind,
        arguments: (&[]).into(),
    })
}

/// Adds records of one provider, with a clock of nanoseconds, that arrive at `now`.
fn add(window: &mut Window, records: &[Record<'_>], now: Duration) {
    let info: Record<'_> = Metadata::ProviderInfo { id: 1, name: b"server" }.into();
    let mut words = Vec::new();
    for record in [&Metadata::MagicNumber.into(), &info].into_iter().chain(records) {
        encode::append(&mut words, record).unwrap();
    }
    let mut decoder = Decoder::default();
    words.iter().for_each(|word| decoder.feed(&word.to_le_bytes()));
    let error = drain(&mut decoder, |item| {
        window.add(item, now);
        Ok(())
    });
    assert!(error.unwrap().is_none());
    window.advance(now);
}

fn durations(window: &mut Window, name: &str, lengths: &[u64], now: Duration) {
    let complete = |end: &u64| event(name, 0, EventKind::DurationComplete { end: *end });
    add(window, &lengths.iter().map(complete).collect::<Vec<_>>(), now);
}

/// A window with two scopes, a counter and a loss.
fn busy() -> Window {
    let mut window = window(&[]);
    durations(&mut window, "fast", &[1_000; 400], SECOND);
    durations(&mut window, "slow", &[30_000_000, 50_000_000], 2 * SECOND);
    let arguments = [Argument::new("depth", Value::Int64(7))];
    let counter = Event {
        ticks: 1,
        thread: Thread::Inline(ThreadKoids::new(1, 2)),
        category: "web".into(),
        name: "queue".into(),
        kind: EventKind::Counter { id: 0 },
        arguments: (&arguments).into(),
    };
    let number = [Argument::new("number", Value::Uint64(12))];
    let loss = Event {
        category: "trace".into(),
        name: "records dropped".into(),
        kind: EventKind::Instant { scope: None },
        arguments: (&number).into(),
        ..counter
    };
    add(&mut window, &[Record::Event(counter), Record::Event(loss)], 2 * SECOND);
    window
}

fn press(app: &mut App, keys: &[KeyCode]) -> Action {
    let press = |code: &KeyCode| app.press(KeyEvent::new(*code, KeyModifiers::NONE));
    keys.iter().map(press).last().unwrap()
}

/// Returns the lines of a picture.
fn picture(app: &mut App, width: u16, height: u16) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, app)).unwrap();
    let buffer = terminal.backend().buffer();
    let line = |y: u16| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>();
    (0..height).map(|y| line(y).trim_end().to_owned()).collect()
}

#[test]
fn a_picture_has_80_columns_and_24_lines() {
    let mut app = App::new("web".to_owned(), 5 * SECOND);
    app.update(&busy());
    let lines = picture(&mut app, 80, 24);
    assert_eq!(lines[0], "web: live, last 5 s, by LOAD");
    assert_eq!(lines[1], "202 events/s, 12 lost, 1 program: server");
    assert_eq!(lines[2], " *LOAD      RATE     MEAN      P99      MAX NAME");
    assert_eq!(lines[3], "  4.0%     1.0/s  40.00ms  50.00ms  50.00ms web:slow");
    assert_eq!(lines[4], "  0.0%   200.0/s  1.000µs  1.000µs  1.000µs web:fast");
    assert_eq!(lines[21], "         COUNTER NAME");
    assert_eq!(lines[22], "               7 web:queue depth");
    assert!(lines[23].starts_with("q quit"), "{}", lines[23]);
}

#[test]
fn small_terminals_are_no_error() {
    let mut app = App::new("web".to_owned(), SECOND);
    app.update(&busy());
    for (width, height) in [(1, 1), (10, 3), (20, 5), (200, 60)] {
        picture(&mut app, width, height);
    }
}

#[test]
fn keys_sort_filter_pause_and_quit() {
    let window = busy();
    let mut app = App::new(String::new(), SECOND);
    let names = |app: &mut App| {
        app.update(&window);
        app.rows.iter().map(|row| row.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(names(&mut app), ["web:slow", "web:fast"]);
    press(&mut app, &[KeyCode::Char('s')]);
    assert_eq!(
        (app.order, names(&mut app)),
        (Order::Rate, vec!["web:fast".into(), "web:slow".into()])
    );
    press(&mut app, &[KeyCode::Char('/'), KeyCode::Char('s'), KeyCode::Char('l')]);
    assert_eq!(names(&mut app), ["web:slow"]);
    assert!(picture(&mut app, 80, 24)[23].starts_with("filter: sl_"));
    press(&mut app, &[KeyCode::Enter, KeyCode::Char('p')]);
    assert!(app.is_paused && picture(&mut app, 80, 24)[0].contains("paused"));
    press(&mut app, &[KeyCode::Esc]);
    assert_eq!(names(&mut app), ["web:slow"], "a paused picture does not change");
    press(&mut app, &[KeyCode::Char(' ')]);
    assert_eq!(names(&mut app).len(), 2);
    assert_eq!(press(&mut app, &[KeyCode::Char('q')]), Action::Quit);
    let interrupt = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    assert_eq!(app.press(interrupt), Action::Quit);
}

#[test]
fn long_tables_are_scrolled() {
    let mut window = window(&[]);
    for number in 0..50u64 {
        durations(&mut window, &format!("scope {number:02}"), &[1000 - number], SECOND);
    }
    let mut app = App::new(String::new(), SECOND);
    app.update(&window);
    assert!(picture(&mut app, 80, 24)[3].ends_with("scope 00"));
    press(&mut app, &[KeyCode::Down, KeyCode::PageDown]);
    assert!(picture(&mut app, 80, 24)[3].ends_with("scope 11"));
    press(&mut app, &[KeyCode::PageDown; 9]);
    assert!(picture(&mut app, 80, 24)[22].ends_with("scope 49"), "the last row is the last line");
    press(&mut app, &[KeyCode::Up]);
    assert!(picture(&mut app, 80, 24)[22].ends_with("scope 48"));
}

#[test]
fn every_order_sorts_the_largest_first() {
    let window = busy();
    for (order, first) in
        Order::ALL.into_iter().zip(["slow", "fast", "slow", "slow", "slow", "fast"])
    {
        assert!(rows(&window, order, "")[0].name.ends_with(first), "{order:?}");
    }
    let mut order = Order::default();
    Order::ALL.iter().for_each(|_| order = order.next());
    assert_eq!(order, Order::default());
}

#[test]
fn old_durations_leave_the_window() {
    let mut window = window(&[]);
    durations(&mut window, "old", &[1], SECOND);
    durations(&mut window, "new", &[1], 5 * SECOND);
    assert_eq!(window.scopes().len(), 2);
    window.advance(7 * SECOND);
    let scopes = window.scopes();
    assert_eq!((scopes.len(), scopes[0].name.as_str()), (1, "web:new"));
    window.advance(100 * SECOND);
    assert!(window.scopes().is_empty() && window.events_per_second() == 0.0);
}

/// A scope that is open when the buffer is handed over has its end in another record.
#[test]
fn begins_and_ends_are_durations() {
    let mut window = window(&["web"]);
    let records = [
        event("outer", 100, EventKind::DurationBegin),
        event("inner", 200, EventKind::DurationBegin),
        event("", 250, EventKind::DurationEnd),
        event("", 1100, EventKind::DurationEnd),
        event("", 1200, EventKind::DurationEnd),
        event("request", 100, EventKind::AsyncBegin { id: 5 }),
        event("request", 400, EventKind::AsyncEnd { id: 5 }),
        event("request", 500, EventKind::AsyncEnd { id: 6 }),
    ];
    add(&mut window, &records, SECOND);
    let rows = rows(&window, Order::Name, "");
    let found: Vec<_> = rows.iter().map(|row| (row.name.as_str(), row.max)).collect();
    assert_eq!(found, [("web:inner", 50), ("web:outer", 1000), ("web:request (operations)", 300)]);
}

#[test]
fn an_operation_and_its_polls_have_two_rows() {
    let mut window = window(&["web"]);
    let records = [
        event("request", 100, EventKind::AsyncBegin { id: 5 }),
        event("request", 100, EventKind::DurationComplete { end: 150 }),
        event("request", 900, EventKind::DurationComplete { end: 910 }),
        event("request", 910, EventKind::AsyncEnd { id: 5 }),
    ];
    add(&mut window, &records, SECOND);
    let rows = rows(&window, Order::Name, "");
    let found: Vec<_> = rows.iter().map(|row| (row.name.as_str(), row.max)).collect();
    assert_eq!(found, [("web:request", 50), ("web:request (operations)", 810)]);
}

#[test]
fn unselected_scopes_are_left_out() {
    let mut window = window(&["other"]);
    durations(&mut window, "request", &[1], SECOND);
    let records = [event("a", 1, EventKind::DurationBegin), event("", 2, EventKind::DurationEnd)];
    add(&mut window, &records, SECOND);
    assert!(window.scopes().is_empty());
}

#[test]
fn the_number_of_names_is_limited() {
    let mut window = window(&[]);
    for number in 0..5000 {
        durations(&mut window, &number.to_string(), &[1], SECOND);
    }
    let scopes = window.scopes();
    assert_eq!(scopes.len(), 4097);
    assert_eq!((scopes[0].name.as_str(), scopes[0].durations.count()), ("(other scopes)", 904));
}
