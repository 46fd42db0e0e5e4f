//! `trace snapshot`

use anyhow::{Context as _, Result};
use indicatif::HumanBytes;
use serde_json::json;

use crate::cli::SnapshotArgs;
use crate::daemon_client::{output, print_json};
use crate::exit;
use crate::input::STANDARD;
use crate::sessions::find_session;

pub(crate) fn run(args: &SnapshotArgs) -> Result<u8> {
    let (to, descriptor) = output(&args.output)?;
    let mut found = find_session(args.client.socket.as_deref(), &args.session.name)?;
    let path = args.output.display();
    let taken = found.controller.snapshot(&found.name, to, &descriptor);
    let bytes = taken.with_context(|| format!("cannot write the snapshot {path}"))?;
    if args.json && args.output.as_os_str() != STANDARD {
        print_json(&json!({ "archive": args.output.to_string_lossy(), "bytes": bytes }))?;
    } else {
        crate::say(&format!("snapshot {path}, {}", HumanBytes(bytes)));
    }
    Ok(exit::OK)
}
