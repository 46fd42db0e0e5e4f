//! `trace record`

use anyhow::{bail, Result};

use crate::cli::RecordArgs;

pub(crate) fn run(_args: &RecordArgs) -> Result<u8> {
    bail!("recording is not part of this build")
}
