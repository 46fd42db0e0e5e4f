//! The control socket of a recording, for other commands of this user.

use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::sync::Arc;

use anyhow::Result;
use trace_manager::controller::{Output, ProviderSpec, TraceConfig};
use trace_manager::{
    CategoryGroups, ControlLimits, ControlServer, ControlSettings, Manager, Notice, ServedSession,
    SessionHandle, SessionSummary,
};
use trace_protocol::control::{CONTROL_SOCKET, MAX_SESSION_NAME};
use trace_protocol::socket::Listener;

use super::{kernel, Event};
use crate::cli::{RecordArgs, RecordFormat};
use crate::message::describe;

/// The name of a session whose output has none.
const DEFAULT_NAME: &str = "record";

/// The control socket, if other commands can use the recording.
#[derive(Debug)]
pub(super) struct Control {
    server: Option<ControlServer>,
    output: String,
}

impl Control {
    /// Listens in the private directory. If that fails, recording continues without it.
    pub(super) fn start(
        private: Option<&Path>,
        manager: &Arc<Manager>,
        session: &Arc<SessionHandle>,
        args: &RecordArgs,
        events: Sender<Event>,
    ) -> Self {
        let output = absolute(&args.session.output);
        let served = ServedSession {
            config: config(args),
            handle: Arc::clone(session),
            output: output.to_string_lossy().into_owned(),
            fixed_categories: kernel::is_selected(args)
                .then(|| "the categories of a recording of the kernel cannot change".to_owned()),
            no_pause: no_pause(args.format).map(str::to_owned),
            // The receiver is gone if the recording has ended.
            on_stop: Box::new(move || drop(events.send(Event::Stop))),
        };
        let output = served.output.clone();
        let server = private.map(|private| serve(private, manager, served));
        let server = server.transpose().unwrap_or_else(|error| {
            let reason = describe(error.as_ref());
            super::note(args, &format!("other commands cannot use this recording: {reason}"));
            None
        });
        Self { server, output }
    }

    /// Forwards a notice to the controllers that wait for it.
    pub(super) fn forward(&self, notice: &Notice) {
        if let Some(server) = &self.server {
            server.forward(notice);
        }
    }

    /// Reports that the recording ends.
    pub(super) fn stopping(&self) {
        self.server.iter().for_each(ControlServer::stopping);
    }

    /// Passes the results to the commands that wait for them.
    pub(super) fn end(self, summary: &SessionSummary) {
        if let Some(server) = self.server {
            server.ended(summary, self.output);
        }
    }
}

fn serve(private: &Path, manager: &Arc<Manager>, session: ServedSession) -> Result<ControlServer> {
    let output = Path::new(&session.output);
    let settings = ControlSettings {
        groups: CategoryGroups::new(),
        limits: ControlLimits::default(),
        // Snapshots are as large as the archive, so that its file system has space for them.
        scratch: output.parent().unwrap_or(Path::new("/")).to_owned(),
        guard: None,
        sessions: None,
        companions: None,
    };
    let listener = Listener::bind_with_mode(&private.join(CONTROL_SOCKET), 0o600)?;
    Ok(ControlServer::serve(listener, Arc::clone(manager), settings, session)?)
}

/// Returns why the recording cannot be paused, if it cannot: XRay logs do not report the gap.
fn no_pause(format: RecordFormat) -> Option<&'static str> {
    match format {
        RecordFormat::Xray => Some("a recording in the format xray cannot be paused"),
        RecordFormat::Fxt => None,
    }
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// Returns the configuration that other commands see.
fn config(args: &RecordArgs) -> TraceConfig {
    let provider = |(name, buffer_size): &(String, u64)| ProviderSpec {
        name: name.clone(),
        buffer_size: *buffer_size,
        ..ProviderSpec::default()
    };
    TraceConfig {
        name: name(&args.session.output),
        categories: args.session.categories.clone(),
        buffer_size: args.session.buffer_size,
        mode: args.session.mode.into(),
        providers: args.session.provider_sizes.iter().map(provider).collect(),
        detached: true,
        output: Output::Descriptor,
        ..TraceConfig::default()
    }
}

/// Returns the name of the session: that of its archive, without the extensions.
fn name(output: &Path) -> String {
    let name = output.file_name().unwrap_or_default().to_string_lossy();
    let stem = [".gz", ".zst"].iter().find_map(|it| name.strip_suffix(it)).unwrap_or(&name);
    let stem = stem.strip_suffix(".fxt").unwrap_or(stem);
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let clean = stem.chars().map(|c| if is_allowed(c) { c } else { '-' });
    let clean: String = clean.take(MAX_SESSION_NAME).collect();
    match clean.trim_start_matches(['-', '_', '.']) {
        "" => DEFAULT_NAME.to_owned(),
        name => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_has_the_name_of_its_archive() {
        for (output, expected) in [
            ("/a/web.fxt", "web"),
            ("web.fxt.gz", "web"),
            ("my trace.fxt.zst", "my-trace"),
            ("logs/", "logs"),
            (".hidden.fxt", "hidden"),
            ("-", "record"),
            ("ä.fxt", "record"),
        ] {
            assert_eq!(name(Path::new(output)), expected, "{output}");
        }
        assert_eq!(name(Path::new(&"a".repeat(300))).len(), MAX_SESSION_NAME);
    }
}
