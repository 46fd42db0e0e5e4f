//! The symbols of a program or library.

use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use object::ReadCache;

use crate::debug_info::DebugInfo;
use crate::frame::Frame;
use crate::{open, Functions, Limited};

/// Where the debug information of files without it is, by build id.
const DEBUG_FILES: &str = "/usr/lib/debug/.build-id";

/// The symbols of a program or library.
#[derive(Debug)]
pub struct ModuleSymbols {
    functions: Functions,
    debug_info: Option<DebugInfo>,
}

/// Why a file cannot name the code of a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModuleError {
    /// It is not there, is no regular file, or this user may not read it.
    Missing,
    /// It is not an ELF file, or is malformed.
    Malformed,
    /// It has another build id than the recorded code, or only one of them has one.
    Changed,
}

impl ModuleSymbols {
    /// Reads the file at `path`, which must have this build id: none if it is empty. If it has no
    /// debug information, that of the same build id below `/usr/lib/debug` is read.
    ///
    /// # Errors
    ///
    /// The file cannot be used.
    pub fn read(path: &Path, build_id: &[u8]) -> Result<Self, ModuleError> {
        let cache = ReadCache::new(open(path).ok_or(ModuleError::Missing)?);
        let own = Self::of(&cache, build_id)?;
        if own.debug_info.is_some() {
            return Ok(own);
        }
        let separate = debug_file(build_id).and_then(|path| open(&path));
        let separate = separate.and_then(|file| Self::of(&ReadCache::new(file), build_id).ok());
        Ok(match separate {
            Some(Self { functions, debug_info }) if !functions.is_empty() => {
                Self { functions, debug_info }
            }
            Some(Self { debug_info, .. }) => Self { debug_info, ..own },
            None => own,
        })
    }

    fn of(cache: &ReadCache<File>, build_id: &[u8]) -> Result<Self, ModuleError> {
        let limited = Limited::new(cache, u64::MAX);
        let file = object::File::parse(&limited).map_err(|_| ModuleError::Malformed)?;
        let found = limited.build_id(&file).unwrap_or_default();
        if found != build_id {
            return Err(ModuleError::Changed);
        }
        limited.permit(u64::MAX);
        Ok(Self { functions: Functions::of(&file), debug_info: DebugInfo::of(&file) })
    }

    /// Returns the frames at an address of the file, innermost first. All but the last are
    /// functions that are inlined there. There are none if no function has the address.
    #[must_use]
    pub fn frames(&self, address: u64) -> Vec<Frame> {
        let frames = self.debug_info.as_ref().map(|info| info.frames(address)).unwrap_or_default();
        if !frames.is_empty() {
            return frames;
        }
        let function = self.functions.at(address);
        let frame = |function: Arc<str>| Frame { function, file: None, line: None };
        function.map(|symbol| frame(symbol.name)).into_iter().collect()
    }
}

/// Returns where the debug information of a build id would be.
fn debug_file(build_id: &[u8]) -> Option<PathBuf> {
    let (first, rest) = build_id.split_first()?;
    let rest: String = rest.iter().map(|byte| format!("{byte:02x}")).collect();
    Some(Path::new(DEBUG_FILES).join(format!("{first:02x}")).join(format!("{rest}.debug")))
}

impl fmt::Display for ModuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Missing => "cannot be read",
            Self::Malformed => "is not an ELF file",
            Self::Changed => "has changed since the recording: its build id differs",
        })
    }
}

impl std::error::Error for ModuleError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[inline(never)]
    fn known() -> u32 {
        std::hint::black_box(line!())
    }

    #[test]
    fn a_function_of_this_program() {
        let path = std::env::current_exe().unwrap();
        let build_id = crate::build_id(&path).unwrap_or_default();
        let symbols = ModuleSymbols::read(&path, &build_id).unwrap();
        let function = symbols.functions.named("trace_symbols::module::tests::known").unwrap();
        let frames = symbols.frames(function.start);
        let last = frames.last().unwrap();
        assert_eq!(&*last.function, "trace_symbols::module::tests::known");
        assert!(last.file.as_ref().unwrap().ends_with("trace-symbols/src/module.rs"), "{last:?}");
        assert!(known().abs_diff(last.line.unwrap()) <= 1, "{last:?}");
        assert_eq!(symbols.frames(u64::MAX), []);
    }

    #[test]
    fn another_build_id_is_an_error() {
        let path = std::env::current_exe().unwrap();
        let error = |path: &Path, id: &[u8]| ModuleSymbols::read(path, id).unwrap_err();
        assert_eq!(error(&path, &[1, 2, 3]), ModuleError::Changed);
        if crate::build_id(&path).is_some() {
            assert_eq!(error(&path, &[]), ModuleError::Changed, "recorded without one");
        }
        assert_eq!(error(Path::new("/dev/null"), &[]), ModuleError::Missing);
        assert_eq!(error(Path::new("/etc/passwd"), &[]), ModuleError::Malformed);
    }

    #[test]
    fn debug_files_are_found_by_build_id() {
        let path = debug_file(&[0xab, 0x01, 0xcd]).unwrap();
        assert_eq!(path, Path::new("/usr/lib/debug/.build-id/ab/01cd.debug"));
        assert_eq!(debug_file(&[]), None);
    }
}
