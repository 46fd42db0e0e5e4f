//! Interleavings of seeds. A seed that fails is printed; with the fix, it goes to [`REGRESSIONS`].

use std::panic::{catch_unwind, AssertUnwindSafe};

use super::{run, Counts, S};
use crate::choices::Choices;

/// Seeds that once failed.
const REGRESSIONS: &[u64] = &[9, 1_000_006];

/// The choices of a seed.
const CHOICES: usize = 4_000;

/// Runs the interleaving of a seed.
///
/// # Panics
///
/// If it fails. The seed is printed.
fn run_seed(seed: u64) -> Counts {
    catch_unwind(AssertUnwindSafe(|| run(&mut Choices::Seed(seed, CHOICES)))).unwrap_or_else(
        |panic| {
            eprintln!("the interleaving of seed {seed} fails");
            std::panic::resume_unwind(panic)
        },
    )
}

/// Runs interleavings of seeds from `first` on, until so many inputs are handled.
fn run_inputs(first: u64, inputs: u64) {
    let (mut sum, mut seed) = (Counts::default(), first);
    while sum.inputs < inputs {
        let Counts { inputs, records, archived, states } = run_seed(seed);
        sum.inputs += inputs;
        sum.records += records;
        sum.archived += archived;
        sum.states.iter_mut().zip(states).for_each(|(sum, times)| *sum += times);
        seed += 1;
    }
    eprintln!("seeds {first} to {}: {sum:?}", seed - 1);
    assert!(sum.records > sum.inputs / 50 && sum.archived > sum.records / 4, "{sum:?}");
    // Sessions are initialized without an event.
    assert!(sum.states[S::Starting as usize..].iter().all(|times| *times > 50), "{sum:?}");
}

#[test]
fn seeds_that_once_failed() {
    for seed in REGRESSIONS {
        run_seed(*seed);
    }
}

/// Four of them, so that they run at the same time.
macro_rules! quarters {
    ($($name:ident: $first:literal;)*) => {
        $(#[test]
        fn $name() {
            run_inputs($first, 250_000);
        })*
    };
}

quarters! {
    a_million_inputs_first_quarter: 1;
    a_million_inputs_second_quarter: 1_000_001;
    a_million_inputs_third_quarter: 2_000_001;
    a_million_inputs_last_quarter: 3_000_001;
}
