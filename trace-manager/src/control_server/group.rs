//! The group of the control socket. Its members see and record the programs of all users.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use rustix::process::geteuid;

/// The permission of the group to connect: to write.
const GROUP_WRITES: u32 = 0o020;

/// What the kernel shows of each group that a user namespace does not map (`overflowgid`,
/// user_namespaces(7)): two that look the same may be different.
const UNMAPPED: u32 = 65534;

/// Returns the group that may use the socket at `path`. It is looked up for each connection,
/// because the administrator may change it.
pub(super) fn of_socket(path: &Path) -> Option<u32> {
    let found = fs::symlink_metadata(path).ok()?;
    // A socket that another user has put there has a group of that user's choice.
    let is_own = found.file_type().is_socket() && found.uid() == geteuid().as_raw();
    let is_for_group = is_own && found.mode() & GROUP_WRITES != 0;
    Some(found.gid()).filter(|group| is_for_group && *group != UNMAPPED)
}

#[cfg(test)]
mod tests {
    use std::fs::{set_permissions, Permissions};
    use std::os::unix::fs::{chown, PermissionsExt};
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn only_a_socket_of_the_daemon_that_its_group_may_use_has_a_group() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("control.sock");
        assert_eq!(of_socket(&path), None, "it is missing");
        let _listener = UnixListener::bind(&path).unwrap();
        let own = fs::metadata(&path).unwrap().gid();
        for (mode, expected) in [(0o600, None), (0o660, Some(own)), (0o666, Some(own))] {
            set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            assert_eq!(of_socket(&path), expected, "{mode:o}");
        }
        let link = directory.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert_eq!(of_socket(&link), None);
        if geteuid().is_root() {
            for (uid, gid, expected) in
                [(0, 1234, Some(1234)), (0, UNMAPPED, None), (1234, 1234, None)]
            {
                chown(&path, Some(uid), Some(gid)).unwrap();
                assert_eq!(of_socket(&path), expected, "{uid} {gid}");
            }
        }
    }
}
