//! `trace lake report`: how the durations of names are spread over days, versions and hosts, and
//! which became slower from one version to the next, as a web page.

mod changes;
mod data;
mod page;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use anyhow::{bail, Result};

use super::cli::ReportArgs;
use crate::exit::OK;
use crate::message::HINT;
use crate::output::write_file;
use crate::session;
use crate::store::snapshot::Snapshot;
use crate::store::Store;
use crate::subject::Subject;

pub(super) async fn run(args: &ReportArgs) -> Result<u8> {
    let snapshot = Arc::new(Snapshot::newest(Store::open(&args.store)?).await?);
    let html = html(&snapshot, args).await?;
    write_file(&args.output, html.as_bytes())?;
    println!("{}: written", args.output.display());
    Ok(OK)
}

/// Returns the page.
async fn html(snapshot: &Arc<Snapshot>, args: &ReportArgs) -> Result<String> {
    let memory = args.memory.saturating_mul(1 << 20);
    let session = session::session(&Subject::Store(snapshot.clone()), memory).await?;
    let names = data::choose(&session, args.name.as_deref()).await?;
    if names.is_empty() {
        let name = args.name.as_deref().map(|name| format!(" named {name}")).unwrap_or_default();
        bail!(
            "{} has no complete span or operation{name}\
             {HINT}trace query {0} \"SELECT DISTINCT name FROM spans\" lists names",
            snapshot.store.name()
        );
    }
    let spreads = data::spreads(&session).await?;
    let changes = changes::between_versions(&session, &snapshot.state).await?;
    Ok(page::page(snapshot, &names, &spreads, &changes))
}
