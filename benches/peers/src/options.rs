//! The command line.

/// The amount of measurements.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Interleaved repetitions of every measurement.
    pub reps: usize,
    /// Iterations of the loop in one measurement.
    pub count: u64,
    /// Scopes in the run that measures memory, file size and flushing.
    pub scopes: u64,
    /// Names of the tracers to run; empty for all.
    pub only: Vec<String>,
}

/// The role of this process.
#[derive(Debug)]
pub enum Options {
    /// The driver, which measures and reports.
    Compare(Plan),
    /// A child with a single tracer.
    Child { peer: String },
}

/// Parses the arguments after the program's name.
///
/// # Errors
///
/// Fails with a message about the first invalid argument.
pub fn parse(mut args: impl Iterator<Item = String>) -> Result<Options, String> {
    let mut plan = Plan { reps: 16, count: 20_000, scopes: 1_000_000, only: Vec::new() };
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("{arg} needs a value"));
        match arg.as_str() {
            // Added by `cargo bench`.
            "--bench" => {}
            "--child" => return Ok(Options::Child { peer: value()? }),
            "--reps" => plan.reps = positive(&value()?)?,
            "--count" => plan.count = positive(&value()?)? as u64,
            "--scopes" => plan.scopes = positive(&value()?)? as u64,
            "--only" => plan.only = value()?.split(',').map(str::to_owned).collect(),
            _ => {
                return Err(format!(
                    "unknown argument {arg:?}; known: --reps, --count, --scopes, --only"
                ))
            }
        }
    }
    Ok(Options::Compare(plan))
}

fn positive(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err(format!("expected a number above 0, found {text:?}")),
        Ok(number) => Ok(number),
    }
}
