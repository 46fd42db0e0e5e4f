//! `trace recover`

use anyhow::{bail, Result};

use crate::cli::RecoverArgs;

pub(crate) fn run(_args: &RecoverArgs) -> Result<u8> {
    bail!("recovering is not part of this build")
}
