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
/// Runs when the archive is complete. Before that, the manager seeks in it, and the guard may have
/// to complete it. A killed `record` therefore leaves an uncompressed archive, whatever its name.
pub(super) fn if_compressed_name(path: &Path) -> Result<()> {
    if path == Path::new(STANDARD) || Compression::of(path)? == Compression::None {
        return Ok(());
    }
    let failed = || format!("cannot compress {}, which stays uncompressed", path.display());
    let mut archive = File::open(path).with_context(failed)?;
    // A pipe has received the archive already.
    if !archive.metadata().with_context(failed)?.is_file() {
        return Ok(());
    }
    let mut output = Output::create(path).with_context(failed)?;
    io::copy(&mut archive, &mut output).with_context(failed)?;
    output.finish().with_context(failed)
}
