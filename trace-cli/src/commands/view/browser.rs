//! Opening a browser.

use std::env;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::thread;

use crate::message::{describe, say};

/// Opens a page in the browser of the variable BROWSER, or in the user's own.
/// If there is none the user is told, who has the address.
pub(super) fn open(address: &str) {
    let browser = env::var_os("BROWSER").filter(|name| !name.is_empty());
    let browser = browser.unwrap_or_else(|| "xdg-open".into());
    let address = address.to_owned();
    // Some browsers stay, and some start another process and end.
    thread::spawn(move || {
        if let Err(error) = run(&browser, &address) {
            let browser = browser.to_string_lossy();
            say(&format!(
                "cannot open a browser with {browser}: {}\nhint: open the address above",
                describe(&error)
            ));
        }
    });
}

fn run(browser: &OsString, address: &str) -> io::Result<()> {
    let mut command = Command::new(browser);
    command.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // Else Ctrl-C, which ends the command, would end the browser with it.
    command.process_group(0);
    match command.status()? {
        status if status.success() => Ok(()),
        status => Err(io::Error::other(status.to_string())),
    }
}
