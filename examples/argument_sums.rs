//! An analysis of your own: sums a numeric argument over all events, by their names.
//!
//!     argument_sums search.fxt bytes

use std::collections::BTreeMap;
use std::env;
use std::error::Error;
use std::fs::File;
use std::process::ExitCode;

use trace_analyze::Loss;
use trace_format::{Reader, Record};

fn main() -> ExitCode {
    match sums() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("argument_sums: {error}");
            ExitCode::FAILURE
        }
    }
}

fn sums() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let file = arguments.next().ok_or("expected the name of an archive")?;
    let key = arguments.next().ok_or("expected the name of an argument")?;
    let mut reader = Reader::new(File::open(file)?);
    let (mut sums, mut lost) = (BTreeMap::<String, (u64, f64)>::new(), 0);
    while let Some(item) = reader.next()? {
        let Record::Event(event) = &item.record else { continue };
        lost += Loss::of(&item, event).map_or(0, |loss| loss.number);
        for argument in &event.arguments {
            let Some(number) = argument.value.number() else { continue };
            if item.text(argument.name) == key {
                let (events, sum) = sums.entry(item.text(event.name).into_owned()).or_default();
                (*events, *sum) = (*events + 1, *sum + number);
            }
        }
    }
    for (name, (events, sum)) in &sums {
        println!("{name}: {key} = {sum} in {events} events");
    }
    println!("{} records read, {lost} lost while recording", reader.stats().records);
    Ok(())
}
