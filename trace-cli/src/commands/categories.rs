//! `trace categories`

use anyhow::Result;
use serde_json::json;
use trace_convert::visible;
use trace_manager::controller::Controller;

use crate::cli::CategoriesArgs;
use crate::daemon_client::print_json;
use crate::exit;
use crate::sessions::{find_session, Found};
use crate::table::print;

pub(crate) fn run(args: &CategoriesArgs) -> Result<u8> {
    let socket = args.client.socket.as_deref();
    let Found { mut controller, name } = find_session(socket, &args.session.name)?;
    let categories = match args.add.is_empty() && args.remove.is_empty() {
        true => present(&mut controller, &name)?,
        false => controller.change_categories(&name, &args.add, &args.remove)?,
    };
    if args.json {
        print_json(&json!({ "categories": categories }))?;
    } else if categories.is_empty() {
        crate::say("all categories are recorded");
    } else {
        let lines = categories.iter().map(|pattern| format!("{}\n", visible(pattern)));
        print(&lines.collect::<String>())?;
    }
    Ok(exit::OK)
}

/// Returns the category patterns of the session of this name, or of the only one.
fn present(controller: &mut Controller, name: &str) -> Result<Vec<String>> {
    let mut sessions = controller.sessions()?;
    sessions.retain(|session| name.is_empty() || session.name == name);
    match <[_; 1]>::try_from(sessions) {
        Ok([session]) => Ok(session.categories),
        Err(sessions) if sessions.is_empty() && name.is_empty() => {
            anyhow::bail!("there is no session")
        }
        Err(sessions) if sessions.is_empty() => {
            anyhow::bail!("there is no session '{}'", visible(name))
        }
        Err(_) => anyhow::bail!("there are several sessions: name one"),
    }
}
