//! Opening a browser.

use std::env;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::thread;

use crate::message::{describe, say};

/// Opens a page in the browser that the variable BROWSER names, or in the user's default browser.
/// If that fails, prints a message: the user can open the printed address.
pub(super) fn open(address: &str) {
    let browser = env::var_os("BROWSER").filter(|name| !name.is_empty());
    let browser = browser.unwrap_or_else(|| "xdg-open".into());
    let address = address.to_owned();
    // Some browsers keep running, others start another process and end.
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
    // A process group of its own, so that Ctrl-C does not end the browser too.
    command.process_group(0);
    match command.status()? {
        status if status.success() => Ok(()),
        status => Err(io::Error::other(status.to_string())),
    }
}
