//! Output files: their paths, and files that get their name when they are complete.
//!
//! The rules for the outputs of the manager, of processes that trace themselves, and of all
//! commands:
//!
//! | path | output |
//! |---|---|
//! | missing, or a regular file | a new file beside it, which gets the name when it is complete |
//! | a symbolic link | the file to which it leads is replaced, not the link |
//! | a device, a FIFO or a pipe | written directly: [`Node`] |
//! | a directory or a socket | an error |
//!
//! An archive does not replace an earlier one: that is renamed to `NAME.old`
//! ([`NewFile::complete_with_backup`]). Its name may have [`Placeholders`].
//!
//! The directory may be writable for other users:
//!
//! - It is opened once ([`Directory`]), and names are resolved in it by the `*at` calls, so it may
//!   be renamed meanwhile.
//! - Files are created with `O_EXCL` and `O_NOFOLLOW`, and only for this user. A file of another
//!   user is neither opened nor replaced: a different name is used.
//! - A file that an earlier process left behind is used only if it is a regular file of this user,
//!   has one link, and cannot be written by other users.
//! - Symbolic links and FIFOs of other users in a world-writable directory are refused, as the
//!   kernel does with `fs.protected_symlinks` and `fs.protected_fifos`.

mod directory;
mod hidden;
mod new_file;
mod pattern;
mod target;
#[cfg(test)]
mod tests;

pub use directory::{random_name, Claim, Directory};
pub use hidden::{
    hidden_archive, hidden_own_archive, is_hidden_archive, recorder_of, HIDDEN_BUFFER,
};
pub use new_file::NewFile;
pub use pattern::{utc, Placeholders, UnknownPlaceholder};
pub use target::{Node, Place, Target};
