//! `trace top --live`: the hottest scopes of the last seconds.
//!
//! | module | subject |
//! |---|---|
//! | `window` | counts of the last seconds; without I/O |
//! | `open` | scopes and operations that have not ended |
//! | `rows` | sorted and filtered rows |
//! | `state` | the keys, and what is shown |
//! | `screen` | drawing with ratatui |
//! | `plain` | output that is not a terminal |

mod open;
mod plain;
mod rows;
mod screen;
mod state;
#[cfg(test)]
mod tests;
mod window;

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use ratatui::DefaultTerminal;
use trace_format::Decoder;

use crate::cli::TopArgs;
use crate::live::{Source, State, Threads};
use crate::message::describe;
use crate::{exit, say};
use state::{Action, App};
use window::Window;

/// The longest time to wait for records, and so for a key.
const TIMEOUT: Duration = Duration::from_millis(50);

/// The time between two pictures.
const FRAME: Duration = Duration::from_millis(250);

pub(super) fn run(args: &TopArgs) -> Result<u8> {
    let input = args.file.as_deref().map(|path| path.to_string_lossy()).unwrap_or_default();
    let socket = args.client.socket.as_deref();
    let source = Source::open(&input, &args.selection.categories, socket)?;
    let mut feed = Feed {
        source,
        decoder: Decoder::default(),
        window: Window::new(
            args.window,
            args.selection.filter(),
            Threads::new(args.selection.thread.clone()),
        ),
        started: Instant::now(),
        has_ended: false,
    };
    match io::stdout().is_terminal() && io::stdin().is_terminal() && !args.json {
        true => {
            let app = App::new(input.into_owned(), args.window);
            let mut terminal = ratatui::try_init().context("cannot use the terminal")?;
            let result = interact(&mut terminal, &mut feed, app);
            ratatui::restore();
            result?;
        }
        false => plain::print(args, &mut feed)?,
    }
    Ok(feed.code())
}

/// The records, and their counts.
struct Feed {
    source: Source,
    decoder: Decoder,
    window: Window,
    started: Instant,
    has_ended: bool,
}

impl Feed {
    /// Counts the next records.
    fn advance(&mut self, timeout: Duration) -> Result<State> {
        let state = self.source.read(&mut self.decoder, timeout);
        let state = state.context("cannot read the records")?;
        self.has_ended = state == State::Ended;
        let (now, window) = (self.started.elapsed(), &mut self.window);
        let error = self.source.drain(&mut self.decoder, |item| {
            window.add(item, now);
            Ok(())
        })?;
        window.advance(now);
        match error {
            Some(error) if error.is_fatal() => Err(anyhow::anyhow!("{}", describe(&error))),
            Some(_) => {
                window.add_malformed();
                Ok(state)
            }
            None => Ok(state),
        }
    }

    /// Returns the exit code. Reports a stream that has ended early.
    fn code(&mut self) -> u8 {
        let message = if self.has_ended { self.source.early_end() } else { None };
        message.iter().for_each(|message| say(message));
        match self.window.lost + self.window.malformed {
            0 if message.is_none() => exit::OK,
            _ => exit::INCOMPLETE,
        }
    }
}

/// Shows the window until the user quits. The last picture stays when the session ends.
fn interact(terminal: &mut DefaultTerminal, feed: &mut Feed, mut app: App) -> Result<()> {
    let failed = "cannot use the terminal";
    let mut drawn: Option<Instant> = None;
    loop {
        if !app.has_ended {
            app.has_ended = feed.advance(TIMEOUT)? == State::Ended;
        }
        let timeout = if app.has_ended { FRAME } else { Duration::ZERO };
        let mut is_changed = false;
        while event::poll(if is_changed { Duration::ZERO } else { timeout }).context(failed)? {
            is_changed = true;
            if let Event::Key(key) = event::read().context(failed)? {
                if key.kind == KeyEventKind::Press && app.press(key) == Action::Quit {
                    return Ok(());
                }
            }
        }
        if is_changed || drawn.is_none_or(|drawn| drawn.elapsed() >= FRAME) {
            app.update(&feed.window);
            terminal.draw(|frame| screen::draw(frame, &mut app)).context(failed)?;
            drawn = Some(Instant::now());
        }
    }
}
