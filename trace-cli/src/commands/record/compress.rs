//! Compressing a recorded archive.

use std::fs::File;
use std::io;
use std::path::Path;

use anyhow::{Context, Result};

use crate::compression::Compression;
use crate::input::STANDARD;
use crate::output::Output;

/// Compresses the archive at `path`, if its name asks for that.
///
/// This is done when the archive is complete: until then it is the manager's,
/// which goes back in it, and after a kill its guard's. So a killed `record`
/// leaves a good archive that is not compressed, whatever its name.
pub(super) fn if_wanted(path: &Path) -> Result<()> {
    if path == Path::new(STANDARD) || Compression::of(path)? == Compression::None {
        return Ok(());
    }
    let failed = || format!("cannot compress {}, which stays uncompressed", path.display());
    let mut archive = File::open(path).with_context(failed)?;
    // Not the end of a pipe, which has it already.
    if !archive.metadata().with_context(failed)?.is_file() {
        return Ok(());
    }
    let mut output = Output::create(path).with_context(failed)?;
    io::copy(&mut archive, &mut output).with_context(failed)?;
    output.finish().with_context(failed)
}
