//! The keys, and what is shown.

use std::time::Duration;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::rows::{rows, Order, Row};
use super::window::Window;

/// What a key causes beyond the state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Continue,
    Quit,
}

/// What is shown.
#[derive(Debug)]
pub(super) struct App {
    /// The session or file.
    pub(super) input: String,
    pub(super) window: Duration,
    pub(super) order: Order,
    /// The text that names must contain.
    pub(super) filter: String,
    /// Whether keys change the filter.
    pub(super) is_editing: bool,
    pub(super) is_paused: bool,
    pub(super) has_ended: bool,
    /// The first row that is shown.
    pub(super) offset: usize,
    pub(super) rows: Vec<Row>,
    pub(super) counters: Vec<(String, f64)>,
    pub(super) providers: Vec<String>,
    pub(super) events_per_second: f64,
    pub(super) lost: u64,
    pub(super) malformed: u64,
}

impl App {
    pub(super) fn new(input: String, window: Duration) -> Self {
        Self {
            input,
            window,
            order: Order::default(),
            filter: String::new(),
            is_editing: false,
            is_paused: false,
            has_ended: false,
            offset: 0,
            rows: Vec::new(),
            counters: Vec::new(),
            providers: Vec::new(),
            events_per_second: 0.0,
            lost: 0,
            malformed: 0,
        }
    }

    /// Takes the present values, unless the picture is paused.
    pub(super) fn update(&mut self, window: &Window) {
        if self.is_paused {
            return;
        }
        self.rows = rows(window, self.order, &self.filter);
        self.counters =
            window.counters.iter().map(|(name, value)| (name.clone(), *value)).collect();
        self.providers = window.providers.values().cloned().collect();
        self.events_per_second = window.events_per_second();
        (self.lost, self.malformed) = (window.lost, window.malformed);
    }

    /// Handles a key.
    pub(super) fn press(&mut self, key: KeyEvent) -> Action {
        let has_control = key.modifiers.contains(KeyModifiers::CONTROL);
        if has_control && key.code == KeyCode::Char('c') {
            return Action::Quit;
        }
        if self.is_editing {
            self.edit(key.code);
            return Action::Continue;
        }
        match key.code {
            KeyCode::Char('q') => return Action::Quit,
            KeyCode::Char('p' | ' ') => self.is_paused = !self.is_paused,
            KeyCode::Char('s') => self.order = self.order.next(),
            KeyCode::Char('/') => self.is_editing = true,
            KeyCode::Esc => self.filter.clear(),
            KeyCode::Down | KeyCode::Char('j') => self.scroll(1),
            KeyCode::Up | KeyCode::Char('k') => self.scroll(-1),
            KeyCode::PageDown => self.scroll(10),
            KeyCode::PageUp => self.scroll(-10),
            _ => {}
        }
        Action::Continue
    }

    fn edit(&mut self, key: KeyCode) {
        match key {
            KeyCode::Enter => self.is_editing = false,
            KeyCode::Esc => {
                self.is_editing = false;
                self.filter.clear();
            }
            KeyCode::Backspace => drop(self.filter.pop()),
            KeyCode::Char(letter) => self.filter.push(letter),
            _ => {}
        }
        self.offset = 0;
    }

    fn scroll(&mut self, rows: isize) {
        let last = self.rows.len().saturating_sub(1);
        self.offset = self.offset.saturating_add_signed(rows).min(last);
    }
}
