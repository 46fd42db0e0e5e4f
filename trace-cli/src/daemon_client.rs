//! The connection to the daemon, for the commands that use it.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use anyhow::{bail, Context, Result};
use serde_json::Value;
use trace_manager::controller::{control_socket_path, Controller, Output};
use trace_protocol::file::Target;

use crate::args::Format;
use crate::compression::Compression;
use crate::input::STANDARD;
use crate::message::HINT;
use crate::recorders::PATIENCE;

/// Connects to the daemon whose registration socket is `socket`, or to the one that programs find.
pub(crate) fn connect(socket: Option<&Path>) -> Result<Controller> {
    Ok(match socket {
        Some(path) => Controller::connect(&control_socket_path(path))?,
        None => Controller::connect_default()?,
    })
}

/// Connects as [`connect`] does, for requests that a daemon answers at once. Those to one that is
/// stopped fail after a time.
pub(crate) fn connect_to_query(socket: Option<&Path>) -> Result<Controller> {
    let mut controller = connect(socket)?;
    controller.set_timeout(Some(PATIENCE));
    Ok(controller)
}

/// Opens an output for the daemon: standard output, a device or a pipe, or a new file in its
/// directory. Links are followed here, with the permissions of this user.
pub(crate) fn output(path: &Path) -> Result<(Output, OwnedFd)> {
    let failed = || format!("cannot write {}", path.display());
    if path == Path::new(STANDARD) {
        let stdout = io::stdout().as_fd().try_clone_to_owned().with_context(failed)?;
        return Ok((Output::Descriptor, stdout));
    }
    refuse_compressed(path)?;
    match Target::find(path).with_context(failed)? {
        Target::Node(node) => Ok((Output::Descriptor, node.open().with_context(failed)?.into())),
        Target::File(place) => {
            let Some(name) = place.name().to_str() else {
                bail!("cannot write {}: its name is not UTF-8", path.display())
            };
            let directory = place.directory().as_fd().try_clone_to_owned().with_context(failed)?;
            Ok((Output::Beneath(name.to_owned()), directory))
        }
    }
}

/// Fails if the name is not that of an uncompressed archive.
pub(crate) fn refuse_compressed(path: &Path) -> Result<()> {
    if path == Path::new(STANDARD) {
        return Ok(());
    }
    Format::Fxt.refuse_other(path)?;
    if Compression::of(path)? != Compression::None {
        bail!(
            "cannot write {}: the daemon does not compress{HINT}use a name that ends in .fxt, and \
             compress the archive with gzip or zstd",
            path.display()
        );
    }
    Ok(())
}

/// Prints JSON on standard output.
pub(crate) fn print_json(value: &Value) -> Result<()> {
    let text = serde_json::to_string_pretty(value).context("cannot write JSON")?;
    crate::table::print(&(text + "\n"))
}
