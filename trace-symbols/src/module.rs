//! The symbols of a program or library.

use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};

use object::ReadCache;

use crate::debug_info::DebugInfo;
use crate::frame::Frame;
use crate::{open, FunctionSymbol, Functions, Limited};

/// Where the debug information of files without it is, by build id.
const DEBUG_FILES: &str = "/usr/lib/debug/.build-id";

/// The most bytes of symbol tables, with their names, that are read of a file.
pub(crate) const MAX_SYMBOL_BYTES: u64 = 256 << 20;

/// The most bytes of debug information that are read of a file.
const MAX_DEBUG_BYTES: u64 = 1 << 30;

/// The symbols of a program or library.
#[derive(Debug)]
pub struct ModuleSymbols {
    functions: Functions,
    debug_info: Option<DebugInfo>,
    /// Whether there is debug information that is too large.
    lacks_debug_info: bool,
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
    /// Its symbol tables have more than 256 MiB, or its debug information has more than 1 GiB.
    TooLarge,
    /// Parts of its debug information are in other files (`.dwo`, `.dwp`), which are missing.
    Split,
}

impl ModuleSymbols {
    /// Reads the file at `path`, which must have this build id: none if it is empty. If it has no
    /// debug information, that of the same build id below `/usr/lib/debug` is read. Parts that are
    /// in other files (`.dwo`), or in a package beside the file (`.dwp`), are read when an address
    /// requires them, at most 1 GiB.
    ///
    /// # Errors
    ///
    /// The file cannot be used.
    pub fn read(path: &Path, build_id: &[u8]) -> Result<Self, ModuleError> {
        let cache = ReadCache::new(open(path).ok_or(ModuleError::Missing)?);
        let own = Self::of(&cache, path, build_id)?;
        if own.debug_info.is_some() {
            return Ok(own);
        }
        let separate = debug_file(build_id).and_then(|path| open(&path));
        let separate =
            separate.and_then(|file| Self::of(&ReadCache::new(file), path, build_id).ok());
        Ok(match separate {
            Some(separate) if !separate.functions.is_empty() => separate,
            Some(separate) => Self { functions: own.functions, ..separate },
            None => own,
        })
    }

    fn of(cache: &ReadCache<File>, path: &Path, build_id: &[u8]) -> Result<Self, ModuleError> {
        let limited = Limited::new(cache, MAX_SYMBOL_BYTES);
        let Ok(file) = object::File::parse(&limited) else {
            let is_large = limited.is_exceeded();
            return Err(if is_large { ModuleError::TooLarge } else { ModuleError::Malformed });
        };
        let found = limited.build_id(&file).unwrap_or_default();
        if found != build_id {
            return Err(ModuleError::Changed);
        }
        limited.permit(MAX_SYMBOL_BYTES);
        let functions = Functions::of(&file);
        if limited.is_exceeded() {
            return Err(ModuleError::TooLarge);
        }
        limited.permit(MAX_DEBUG_BYTES);
        let debug_info = DebugInfo::of(&file, path, MAX_DEBUG_BYTES);
        let lacks_debug_info = limited.is_exceeded();
        let debug_info = debug_info.filter(|_| !lacks_debug_info);
        Ok(Self { functions, debug_info, lacks_debug_info })
    }

    /// Returns whether there is debug information, which has lines and inlined functions.
    #[must_use]
    pub fn has_debug_info(&self) -> bool {
        self.debug_info.is_some()
    }

    /// Returns why the file's inlined functions and lines are missing, or those of the addresses
    /// so far, although it names its functions.
    #[must_use]
    pub fn lacks_debug_info(&self) -> Option<ModuleError> {
        let lacks_parts = self.debug_info.as_ref().is_some_and(DebugInfo::lacks_parts);
        match self.lacks_debug_info {
            true => Some(ModuleError::TooLarge),
            false => lacks_parts.then_some(ModuleError::Split),
        }
    }

    /// Returns the frames at an address of the file, innermost first. All but the last are
    /// functions that are inlined there. There are none if no function has the address.
    #[must_use]
    pub fn frames(&self, address: u64) -> Vec<Frame> {
        let frames = self.debug_info.as_ref().map(|info| info.frames(address)).unwrap_or_default();
        if !frames.is_empty() {
            return frames;
        }
        let Some(FunctionSymbol { name: function, .. }) = self.functions.at(address) else {
            return Vec::new();
        };
        vec![match &self.debug_info {
            Some(info) => info.line_of(function, address),
            None => Frame { function, file: None, line: None, column: None },
        }]
    }
}

/// Returns where the debug information of a build id would be.
pub(crate) fn debug_file(build_id: &[u8]) -> Option<PathBuf> {
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
            Self::TooLarge => {
                "has more than 256 MiB of symbol tables, or more than 1 GiB of debug information"
            }
            Self::Split => "has debug information in other files (.dwo, .dwp), which are missing",
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

    /// Programs of `debug = "line-tables-only"` have lines, and no functions beside them.
    #[test]
    fn line_tables_without_functions_have_the_lines_of_symbols() {
        let directory = tempfile::tempdir().unwrap();
        let (source, program) = (directory.path().join("main.rs"), directory.path().join("main"));
        std::fs::write(&source, "fn main() {\n    std::process::abort()\n}\n").unwrap();
        let mut compiler = std::process::Command::new("rustc");
        compiler.args(["-C", "debuginfo=line-tables-only", "-o"]).arg(&program).arg(&source);
        if !compiler.status().is_ok_and(|status| status.success()) {
            return eprintln!("skipped: requires rustc");
        }
        let build_id = crate::build_id(&program).unwrap_or_default();
        let symbols = ModuleSymbols::read(&program, &build_id).unwrap();
        let function = symbols.functions.named("main::main").unwrap();
        let [frame] = &symbols.frames(function.start)[..] else { panic!("a frame") };
        assert_eq!((&*frame.function, frame.line), ("main::main", Some(1)));
        assert!(frame.file.as_ref().unwrap().ends_with("main.rs"), "{frame:?}");
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

    /// Returns the first bytes of a file with a section of this type and size behind them.
    fn file_with_section(name: &str, kind: u32, size: u64) -> Vec<u8> {
        let names = format!("\0.strtab\0{name}\0");
        let mut bytes = b"\x7fELF\x02\x01\x01".to_vec();
        bytes.resize(16, 0);
        // A library for x86-64, version 1, without an entry point and program headers. The section
        // headers follow: none, strings, the section.
        bytes.extend([3, 0, 62, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        bytes.extend([0_u64, 64].map(u64::to_le_bytes).as_flattened());
        bytes.extend([0_u16, 0, 64, 56, 0, 64, 3, 1].map(u16::to_le_bytes).as_flattened());
        let sections = [
            (0, 0, 0, 0, 0),
            (1, object::elf::SHT_STRTAB, 256, names.len() as u64, 0),
            (9, kind, 512, size, 24),
        ];
        for (name, kind, offset, size, entry) in sections {
            bytes.extend([name, kind].map(u32::to_le_bytes).as_flattened());
            bytes.extend([0, 0, offset, size].map(u64::to_le_bytes).as_flattened());
            bytes.extend([1, 0].map(u32::to_le_bytes).as_flattened());
            bytes.extend([1, entry].map(u64::to_le_bytes).as_flattened());
        }
        bytes.extend(names.as_bytes());
        bytes
    }

    #[test]
    fn endless_sections_are_not_read() {
        let symbols = (".symtab", object::elf::SHT_SYMTAB);
        let debug_info = (".debug_info", object::elf::SHT_PROGBITS);
        let file = tempfile::NamedTempFile::new().unwrap();
        for ((name, kind), size, expected) in [
            (symbols, 240, Ok(None)),
            (symbols, 240 << 30, Err(ModuleError::TooLarge)),
            (debug_info, 240, Ok(None)),
            (debug_info, 240 << 30, Ok(Some(ModuleError::TooLarge))),
        ] {
            std::fs::write(file.path(), file_with_section(name, kind, size)).unwrap();
            file.as_file().set_len(512 + size).unwrap();
            let read = ModuleSymbols::read(file.path(), &[]);
            let found = read.map(|symbols| symbols.lacks_debug_info());
            assert_eq!(found, expected, "{name} of {size} bytes");
        }
    }

    #[test]
    fn debug_files_are_found_by_build_id() {
        let path = debug_file(&[0xab, 0x01, 0xcd]).unwrap();
        assert_eq!(path, Path::new("/usr/lib/debug/.build-id/ab/01cd.debug"));
        assert_eq!(debug_file(&[]), None);
    }
}
