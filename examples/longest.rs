//! An analysis of your own: the longest duration of a name on each thread.
//!
//!     longest search.fxt read
//!
//! A scope is one record or, if it was open when its buffer was saved, a begin and an end. `Spans`
//! assembles both.

use std::collections::HashMap;
use std::error::Error;
use std::fs::File;
use std::process::ExitCode;

use trace_analyze::spans::{Span, Spans};
use trace_format::Reader;

fn main() -> ExitCode {
    match longest() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("longest: {error}");
            ExitCode::FAILURE
        }
    }
}

fn longest() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("expected the name of an archive")?;
    let label_name = arguments.next().ok_or("expected the name of a duration")?;
    let mut reader = Reader::new(File::open(file)?);
    let (mut spans, mut longest) = (Spans::default(), HashMap::new());
    let mut look = |span: Span| {
        let nanos: &mut u64 = longest.entry((span.koids.thread, span.label)).or_default();
        *nanos = span.nanos().max(*nanos);
    };
    while let Some(item) = reader.next()? {
        spans.record(&item).for_each(&mut look);
    }
    spans.finish().for_each(look);
    let oddities = spans.oddities();
    for ((thread, label), nanos) in longest {
        if spans.catalog().name(label) == label_name {
            println!("thread {thread}: {nanos} ns");
        }
    }
    println!("{} durations have not ended", oddities.begins_without_end);
    Ok(())
}
