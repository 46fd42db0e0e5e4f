//! Names of the functions in XRay logs.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::{Context, Result};
use trace_input::map_beside;
use trace_xray::map::{Map, Program};

use crate::message::{describe, say, HINT};

/// The value of `--instr-map`. It is not an argument of [`open`](super::open), because analyses
/// open their inputs themselves, and several times.
static INSTR_MAP: OnceLock<PathBuf> = OnceLock::new();

/// Uses the functions of this program or map for all inputs.
pub(crate) fn use_instr_map(path: &Path) {
    let _ = INSTR_MAP.set(path.to_owned());
}

/// Returns the map for the log at `path`: that of the option, or for a log `NAME.xray` the file
/// `NAME.map` beside it. Without one it is empty, and functions have numbers. A log whose map has
/// an id must have that map.
pub(crate) fn names(path: &Path, has_notes: bool, map_id: Option<u64>) -> Result<Map> {
    let beside = map_beside(path);
    let beside = beside.as_deref();
    let Some(file) = INSTR_MAP.get() else {
        return Ok(match beside.and_then(|beside| Some((beside, implicit(beside, has_notes)?))) {
            Some((beside, (map, bytes))) => {
                if has_notes && is_other(map_id, &map, &bytes) {
                    report_other_map(path, beside);
                }
                map
            }
            None => {
                report_numbers(has_notes);
                Map::default()
            }
        });
    };
    let (map, bytes) = read(file)?;
    if has_notes && map.is_empty() {
        say(&format!("{} has no functions", file.display()));
    }
    if has_notes && is_other(map_id, &map, &bytes) {
        report_other_map(path, file);
    } else if let Some(beside) = beside.filter(|beside| has_notes && beside != file) {
        check(beside, file, &bytes);
    }
    Ok(map)
}

/// Returns whether a map is not that of a log with this id. One without an id, such as that of
/// YAML, may be any, unless it is that of a program.
fn is_other(map_id: Option<u64>, map: &Map, bytes: &[u8]) -> bool {
    let has_code = || Program::parse(bytes).is_ok_and(|program| program.has_code());
    map_id.is_some_and(|id| map.id() != Some(id) && (map.build_id().is_some() || has_code()))
}

/// Returns the map for the YAML of a log: that of the option, or the names in the YAML.
pub(crate) fn names_of_yaml(own: Map, has_notes: bool) -> Result<Map> {
    match INSTR_MAP.get() {
        Some(file) => Ok(read(file)?.0),
        None => {
            report_numbers(has_notes && own.is_empty());
            Ok(own)
        }
    }
}

fn report_numbers(has_notes: bool) {
    if has_notes {
        say("functions have numbers only: name them with --instr-map BIN");
    }
}

/// Reports that a map does not have the ids of a log.
fn report_other_map(log: &Path, map: &Path) {
    let (log, map) = (log.display(), map.display());
    say(&format!(
        "names may be wrong: the functions of {log} have the ids of its own map, not those of \
         {map}{HINT}name the .map file that was written with the log by --instr-map"
    ));
}

/// Reads a map with its bytes.
fn read(file: &Path) -> Result<(Map, Vec<u8>)> {
    let failed = || format!("cannot read {}", file.display());
    let bytes = std::fs::read(file).with_context(failed)?;
    let map = Map::parse(&bytes).with_context(failed)?;
    Ok((map, bytes))
}

/// Returns whether a file is a map.
pub(crate) fn is_instr_map(file: &Path) -> bool {
    file.is_file() && read(file).is_ok()
}

/// Returns the map beside a log. The file may be one of another kind, such as that of a linker.
fn implicit(beside: &Path, has_notes: bool) -> Option<(Map, Vec<u8>)> {
    match read(beside) {
        Ok(read) => Some(read),
        Err(error) => {
            if has_notes {
                say(&describe(&*error));
            }
            None
        }
    }
}

/// Reports if the log's own map is of another program.
fn check(own: &Path, file: &Path, bytes: &[u8]) {
    let Ok(map) = std::fs::read(own) else { return };
    if let (Ok(map), Ok(program)) = (Map::parse(&map), Program::parse(bytes)) {
        if let Err(mismatch) = map.check(&program) {
            say(&format!("{} does not fit {}: {mismatch}", own.display(), file.display()));
        }
    }
}
