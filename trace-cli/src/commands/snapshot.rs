//! `trace snapshot`

use anyhow::Result;
use indicatif::HumanBytes;
use serde_json::json;

use super::daemon_client::{connect, output, print_json};
use crate::cli::SnapshotArgs;
use crate::exit;
use crate::input::STANDARD;

pub(crate) fn run(args: &SnapshotArgs) -> Result<u8> {
    let (to, descriptor) = output(&args.output)?;
    let mut controller = connect(args.client.socket.as_deref())?;
    let bytes = controller.snapshot(&args.session.name, to, &descriptor)?;
    let path = args.output.display();
    if args.json && args.output.as_os_str() != STANDARD {
        print_json(&json!({ "archive": args.output.to_string_lossy(), "bytes": bytes }))?;
    } else {
        crate::say(&format!("snapshot {path}, {}", HumanBytes(bytes)));
    }
    Ok(exit::OK)
}
