//! Detection of programs with tracing compiled out.

use std::env;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use memchr::memmem::Finder;
use trace_protocol::ntrace::mark;

const CHUNK: usize = 1 << 20;

/// Returns whether the file of the command `program` has the mark of the feature `ntrace`.
pub(super) fn is_compiled_out(program: &OsStr) -> bool {
    let file = find(Path::new(program)).and_then(|path| File::open(path).ok());
    file.is_some_and(|file| has_mark(file).unwrap_or(false))
}

/// Returns the command's file, by the search rules of the kernel and the shell.
pub(super) fn find(program: &Path) -> Option<PathBuf> {
    if program.components().count() > 1 || program.is_absolute() {
        return Some(program.to_owned());
    }
    let paths = env::var_os("PATH")?;
    env::split_paths(&paths).map(|path| path.join(program)).find(|path| path.is_file())
}

fn has_mark(mut file: impl Read) -> io::Result<bool> {
    let mark = mark();
    let finder = Finder::new(&mark);
    let mut bytes = Vec::with_capacity(CHUNK + mark.len());
    while file.by_ref().take(CHUNK as u64).read_to_end(&mut bytes)? > 0 {
        if finder.find(&bytes).is_some() {
            return Ok(true);
        }
        // The mark can lie across two chunks.
        bytes.drain(..bytes.len().saturating_sub(mark.len() - 1));
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_is_found_at_every_place() {
        let mark = mark();
        for place in [0, 1, CHUNK - mark.len(), CHUNK - 7, CHUNK, 2 * CHUNK - 1] {
            let mut bytes = vec![0; place];
            bytes.extend_from_slice(&mark);
            assert!(has_mark(&bytes[..]).unwrap(), "{place}");
            assert!(!has_mark(&bytes[..bytes.len() - 1]).unwrap(), "{place}");
        }
    }
}
