//! The daemon's log: lines on standard error, in the journal, or in a file.
//!
//! A thread writes them. A terminal or a pipe that nobody reads stops this thread, and no other.

mod file;
mod queue;

use std::env;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use log::{Level, LevelFilter, Log, Metadata, Record};
use trace_convert::visible;

use crate::message;
use file::LogFile;
pub(super) use file::{open, LOG};
use queue::Queue;

/// How long the end of the daemon waits for the last lines to be written.
const PATIENCE: Duration = Duration::from_secs(1);

/// Queues messages for the thread that writes them.
struct Logger {
    /// For the journal, each begins with its priority: see sd-daemon(3).
    is_journal: bool,
    queue: Arc<Queue>,
}

/// Installs the logger, which writes to the file in `directory` or to standard error. `TRACE_LOG`
/// has the level; default `info`.
pub(super) fn install(directory: Option<&Path>) -> io::Result<()> {
    let level = env::var("TRACE_LOG").ok().and_then(|level| level.parse().ok());
    log::set_max_level(level.unwrap_or(LevelFilter::Info));
    let logger = match directory.map(LogFile::open).transpose()? {
        Some(file) => Logger::spawn(file, false)?,
        None => Logger::spawn(io::stderr(), env::var_os("JOURNAL_STREAM").is_some())?,
    };
    // Fails if there is a logger already.
    let _ = log::set_boxed_logger(Box::new(logger));
    Ok(())
}

impl Logger {
    fn spawn(mut output: impl Write + Send + 'static, is_journal: bool) -> io::Result<Self> {
        let queue = Arc::new(Queue::new(move |dropped| {
            let messages = message::counted(dropped, "message", "messages");
            line(is_journal, Level::Warn, &format!("{messages} dropped: nobody reads them"))
        }));
        let lines = Arc::clone(&queue);
        thread::Builder::new().name("trace-log".to_owned()).spawn(move || loop {
            // Nobody may read them any more.
            let _ = lines.write_next(|line| output.write_all(line.as_bytes()));
        })?;
        Ok(Self { is_journal, queue })
    }
}

fn line(is_journal: bool, level: Level, text: &str) -> String {
    match is_journal {
        true => format!("<{}>{}\n", priority(level), visible(text)),
        false => message::line(text),
    }
}

impl Log for Logger {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= log::max_level()
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            let text = message::describe_text(&record.args().to_string());
            self.queue.push(line(self.is_journal, record.level(), &text));
        }
    }

    /// Waits until all lines are written, for a limited time.
    fn flush(&self) {
        self.queue.wait_until_written(PATIENCE);
    }
}

fn priority(level: Level) -> u8 {
    match level {
        Level::Error => 3,
        Level::Warn => 4,
        Level::Info => 6,
        Level::Debug | Level::Trace => 7,
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Read};
    use std::os::unix::net::UnixStream;

    use super::*;

    fn log(logger: &Logger, text: &str) {
        let mut record = Record::builder();
        logger.log(&record.level(Level::Error).args(format_args!("{text}")).build());
    }

    #[test]
    fn a_log_that_nobody_reads_delays_nobody() {
        log::set_max_level(LevelFilter::Info);
        let (reader, writer) = UnixStream::pair().unwrap();
        let logger = Logger::spawn(writer, false).unwrap();
        let text = "x".repeat(1000);
        (0..5000).for_each(|_| log(&logger, &text));
        let lines = BufReader::new(reader).lines().map(Result::unwrap);
        let mut lines = lines.skip_while(|line| line.ends_with('x'));
        let dropped = lines.next().unwrap();
        let number = dropped.strip_suffix(" messages dropped: nobody reads them");
        let number: usize = number.unwrap().strip_prefix("trace: ").unwrap().parse().unwrap();
        assert!((1000..5000).contains(&number), "{number}");
    }

    #[test]
    fn queued_lines_are_written_before_the_end() {
        log::set_max_level(LevelFilter::Info);
        let (mut reader, writer) = UnixStream::pair().unwrap();
        let logger = Logger::spawn(writer, true).unwrap();
        (0..100).for_each(|_| log(&logger, "text"));
        logger.flush();
        let mut lines = [0; 100 * "<3>text\n".len()];
        reader.read_exact(&mut lines).unwrap();
        assert_eq!(&lines[..], "<3>text\n".repeat(100).as_bytes());
    }

    #[test]
    fn the_end_does_not_wait_forever() {
        log::set_max_level(LevelFilter::Info);
        let (_reader, writer) = UnixStream::pair().unwrap();
        let logger = Logger::spawn(writer, false).unwrap();
        let text = "x".repeat(1 << 16);
        (0..10).for_each(|_| log(&logger, &text));
        logger.flush();
    }
}
