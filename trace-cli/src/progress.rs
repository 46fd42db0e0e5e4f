//! How far reading is: a bar on standard error, if that is a terminal.

use std::fs::File;
use std::io::{self, IsTerminal, Read};

use indicatif::{ProgressBar, ProgressStyle};

/// Files of fewer bytes are read before anyone could see a bar.
const LONG: u64 = 64 << 20;

/// A file that shows how much of it was read.
#[derive(Debug)]
pub(crate) struct Watched {
    file: File,
    bar: Option<ProgressBar>,
}

impl Watched {
    pub(crate) fn new(file: File) -> Self {
        let length = file.metadata().map_or(0, |metadata| metadata.len());
        let is_shown = length >= LONG && io::stderr().is_terminal();
        Self { file, bar: is_shown.then(|| bar(length)) }
    }
}

fn bar(length: u64) -> ProgressBar {
    let bar = ProgressBar::new(length);
    let style = "{bar:40} {percent:>3} %  {bytes_per_sec}  {eta} left";
    if let Ok(style) = ProgressStyle::with_template(style) {
        bar.set_style(style);
    }
    bar
}

impl Read for Watched {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(room)?;
        match &self.bar {
            Some(bar) if count == 0 => bar.finish_and_clear(),
            Some(bar) => bar.inc(count as u64),
            None => {}
        }
        Ok(count)
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
