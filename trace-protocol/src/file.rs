//! Files that get their name when they are complete, and where they go.
//!
//! The manager, a process that traces itself and all commands write their outputs by these rules:
//!
//! | the path names | what happens |
//! |---|---|
//! | nothing, or a regular file | a new file is written beside it and takes the name at the end |
//! | a symbolic link | it is followed; the file that it leads to is replaced, not the link |
//! | a device, a FIFO or a pipe | it is written to directly: [`Node`] |
//! | a directory or a socket | an error |
//!
//! The directory may be one that other users can write:
//!
//! - It is opened once ([`Directory`]), and names are looked up in it by the `*at` calls. A
//!   directory that is renamed meanwhile does not matter.
//! - Files are created with `O_EXCL` and `O_NOFOLLOW`, for this user alone. What another user has
//!   put under a name is neither opened nor replaced; another name is used.
//! - A file that an earlier process left behind is used only if it is a regular file of this user,
//!   has one link and cannot be written by others.
//! - Symbolic links and FIFOs of other users in a directory that everybody can write are refused,
//!   as the kernel does with `fs.protected_symlinks` and `fs.protected_fifos`.

mod directory;
mod new_file;
mod target;
#[cfg(test)]
mod tests;

pub use directory::{random_name, Claim, Directory};
pub use new_file::NewFile;
pub use target::{Node, Place, Target};
