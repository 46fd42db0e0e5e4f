//! The command line.

/// How much is measured.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Interleaved repetitions of every measurement.
    pub reps: usize,
    /// Iterations of the loop in one measurement.
    pub count: u64,
    /// Scopes in the run that looks at memory, bytes and flushing.
    pub scopes: u64,
    /// Names of the tracers to run; empty for all.
    pub only: Vec<String>,
}

/// What this process is to be.
#[derive(Debug)]
pub enum Options {
    /// The one that asks and reports.
    Compare(Plan),
    /// One that carries a single tracer and answers.
    Child { peer: String },
}

/// Reads the arguments behind the program's name.
///
/// # Errors
///
/// A sentence about the first argument that is not understood.
pub fn parse(mut args: impl Iterator<Item = String>) -> Result<Options, String> {
    let mut plan = Plan { reps: 16, count: 20_000, scopes: 1_000_000, only: Vec::new() };
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("{arg} needs a value"));
        match arg.as_str() {
            // What `cargo bench` adds.
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
