//! A progress bar on standard error, if that is a terminal.

use std::fs::{File, Metadata};
use std::io::{self, Read};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Smaller files are read too fast for a bar.
const LONG: u64 = 16 << 20;

/// A file or pipe that shows how much of it has been read.
#[derive(Debug)]
pub(crate) struct Watched {
    input: File,
    bar: ProgressBar,
    is_shown: bool,
}

impl Watched {
    pub(crate) fn new(input: File) -> Self {
        let metadata = input.metadata().ok().filter(Metadata::is_file);
        let length = metadata.map(|metadata| metadata.len());
        let bar = ProgressBar::with_draw_target(length, ProgressDrawTarget::hidden());
        let style = match length {
            Some(_) => "{bar:40} {percent:>3} %  {bytes_per_sec}  {eta} left",
            None => "{spinner} {bytes}  {bytes_per_sec}",
        };
        if let Ok(style) = ProgressStyle::with_template(style) {
            bar.set_style(style);
        }
        let mut watched = Self { input, bar, is_shown: false };
        if length.is_some_and(|length| length >= LONG) {
            watched.show();
        }
        watched
    }

    /// Shows the bar, if there is a terminal.
    fn show(&mut self) {
        self.is_shown = true;
        self.bar.set_draw_target(ProgressDrawTarget::stderr());
        self.bar.tick();
    }

    fn advance(&mut self, count: u64) {
        self.bar.inc(count);
        if !self.is_shown && self.bar.position() >= LONG {
            self.show();
        }
    }
}

impl Read for Watched {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(room)?;
        match count {
            0 => self.bar.finish_and_clear(),
            count => self.advance(count as u64),
        }
        Ok(count)
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
