//! What a flame graph draws of an archive.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use trace_analyze::nested::{self, Nested};
use trace_analyze::stats::Grouping;
use trace_convert::stacks::{FrameNames, Stacks};

use crate::cli::FlamegraphArgs;
use crate::sampled::{self, Folded};
use crate::unreadable::explained;
use crate::{damage, input};

/// The self time or the number of samples of each stack, whose frames are separated by `;`.
pub(super) type Times = BTreeMap<String, u64>;

/// The durations, operations or samples of an archive.
pub(super) enum Drawn {
    Durations(Box<Stacks>, Grouping),
    Operations(Box<Nested>),
    Samples(Folded),
}

impl Drawn {
    /// Reads an archive. Reports what it lacks, and returns the exit code.
    pub(super) fn read(path: &Path, args: &FlamegraphArgs) -> Result<(Self, u8)> {
        let by = match args.threads {
            true => Grouping::Thread,
            false => args.by.map(Into::into).unwrap_or_default(),
        };
        match args {
            FlamegraphArgs { operations: true, .. } => operations(path, args),
            FlamegraphArgs { samples: true, .. } => {
                let (folded, code) = sampled::folded(path, &args.selection, args.over, by)?;
                Ok((Self::Samples(folded), code))
            }
            _ => durations(path, args, by),
        }
    }

    /// Returns its kind in messages.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Durations(..) => "durations",
            Self::Operations(_) => "async operations",
            Self::Samples(_) => "selected samples",
        }
    }

    /// Returns what the numbers of its stacks count.
    pub(super) fn unit(&self) -> &'static str {
        match self {
            Self::Durations(..) | Self::Operations(_) => "ns",
            Self::Samples(folded) => folded.unit,
        }
    }

    /// Returns the categories and names of all frames. Those of samples are final.
    pub(super) fn frames(&self) -> Vec<(&str, &str)> {
        match self {
            Self::Durations(stacks, _) => stacks.frames().collect(),
            Self::Operations(nested) => {
                let frames = nested.times.keys().flatten();
                frames.map(|(category, name)| (&**category, &**name)).collect()
            }
            Self::Samples(_) => Vec::new(),
        }
    }

    /// Returns the times of the stacks, with these names of frames.
    pub(super) fn times(&self, path: &Path, names: &FrameNames<'_>) -> Result<Times> {
        match self {
            Self::Durations(stacks, by) => {
                let folded = stacks.folded_with_names(*by, names);
                let folded = folded.with_context(|| format!("cannot read {}", path.display()))?;
                damage::warn_counts(path, &damage::of_stacks(&folded));
                Ok(folded.stacks().collect())
            }
            Self::Operations(nested) => {
                let times = nested.times.iter().filter(|(_, nanos)| **nanos > 0);
                Ok(times.map(|(path, nanos)| (stack(path, names), *nanos)).collect())
            }
            Self::Samples(folded) => Ok(folded.stacks.clone()),
        }
    }
}

/// Returns the durations of threads.
fn durations(path: &Path, args: &FlamegraphArgs, by: Grouping) -> Result<(Drawn, u8)> {
    let (reader, code) = input::open_selected(path, &args.selection)?;
    let stacks = explained(path, Stacks::read(reader))?;
    damage::warn_counts(path, &damage::of_durations(&stacks.oddities));
    let code = code.max(damage::warn(path, &stacks.damage));
    Ok((Drawn::Durations(Box::new(stacks), by), code))
}

/// Returns the operations within their parents.
fn operations(path: &Path, args: &FlamegraphArgs) -> Result<(Drawn, u8)> {
    let (reader, code) = input::open_selected(path, &args.selection)?;
    let nested = explained(path, nested::read(reader))?;
    damage::warn_counts(path, &damage::of_operations(&nested.unpaired));
    let code = code.max(damage::warn(path, &nested.damage));
    Ok((Drawn::Operations(Box::new(nested)), code))
}

/// Returns the names of an operation and its ancestors, separated by `;`.
fn stack(path: &[(String, String)], names: &FrameNames<'_>) -> String {
    let names: Vec<&str> = path.iter().map(|(category, name)| names.text(category, name)).collect();
    names.join(";")
}
