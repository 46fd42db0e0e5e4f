//! Arguments of the daemon, and of the commands that use it.

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, ValueEnum};

use super::{RecordFormat, Selection, SessionArgs};
use crate::args::{parse_category, Disposition};

/// The help of `--socket` of the daemon's clients.
const SOCKET: &str = "Socket of the daemon [default: $TRACE_SOCKET, \
    $XDG_RUNTIME_DIR/trace/manager.sock or /run/trace/manager.sock]";

/// Run a daemon that records programs on request
///
/// Programs register with it. `trace start`, `stop`, `snapshot`, `status` and
/// `list` use it. As root, it serves all users: each user records their own programs.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Configuration:
  [groups]                           # categories of `trace start -c '#web'`
  web = ['http*', 'db*', '-db.cache']

  [session.flight]                   # a session that starts with the daemon
  mode = 'circular'                  # long names of the options of `trace start`
  buffer-size = '64M'
  trigger = ['slow:snapshot']

Signals:
  SIGTERM and SIGINT stop the sessions, complete their archives, and end the daemon.
  SIGHUP reads the configuration again. Running sessions continue.

Examples:
  trace daemon --dir ~/traces
  trace daemon --background --dir ~/traces --config ~/.config/trace/daemon.toml
  trace daemon --stop")]
pub(crate) struct DaemonArgs {
    /// Socket where programs register; the control socket is beside it [default:
    /// $TRACE_SOCKET, $XDG_RUNTIME_DIR/trace/manager.sock; as root
    /// /run/trace/manager.sock]
    #[arg(long, value_name = "PATH")]
    pub(crate) socket: Option<PathBuf>,

    /// Directory of archives of sessions that start with the daemon
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) dir: PathBuf,

    /// Configuration file [default: none]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Stay in the foreground, which is the default
    #[arg(long, conflicts_with = "background")]
    pub(crate) foreground: bool,

    /// Return when the daemon is ready. It writes its messages to DIR/trace-daemon.log
    #[arg(long)]
    pub(crate) background: bool,

    /// Stop the daemon that runs, as SIGTERM does, and wait until it has ended
    #[arg(long, conflicts_with_all = ["background", "foreground", "config"])]
    pub(crate) stop: bool,

    /// The daemon is a child of `trace daemon --background`
    #[arg(long, hide = true)]
    pub(crate) child: bool,
}

/// The daemon that a command uses.
#[derive(Debug, Clone, Args)]
pub(crate) struct ClientArgs {
    #[arg(long, value_name = "PATH", help = SOCKET)]
    pub(crate) socket: Option<PathBuf>,
}

/// The session that a command uses.
#[derive(Debug, Args)]
pub(crate) struct SessionName {
    /// Session, or the process of a `trace record` [default: the only one]
    #[arg(value_name = "NAME", default_value = "", hide_default_value = true)]
    pub(crate) name: String,
}

/// Start a session in the daemon
///
/// The session records all programs of this user that are registered with the
/// daemon, and those that register later, until `trace stop`.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = "\
Examples:
  trace start -o web.fxt -c '#web'
  trace start --name web --sched                      # then: trace follow web
  trace start --name flight -m circular -b 64M --trigger slow:snapshot
  trace stop flight")]
pub(crate) struct StartArgs {
    /// Name of the session [default: session-N]
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) name: Option<String>,

    #[command(flatten)]
    pub(crate) session: SessionArgs,

    /// Format of the output. Only archives: it is here to say so
    #[arg(long, value_enum, hide = true, default_value_t = RecordFormat::Fxt)]
    pub(crate) format: RecordFormat,

    /// Record the scheduling of all threads of the machine, with their names: -c
    /// kernel:sched,kernel:tasks beside the selected categories. Requires root or the daemon's user
    #[arg(long)]
    pub(crate) sched: bool,

    /// Write to FILE, a pipe or a device, only at the end of the session
    #[arg(long)]
    pub(crate) defer_transfer: bool,

    /// Continue in FILE.2, FILE.3 … when a daemon starts after this one was killed
    #[arg(long)]
    pub(crate) keep_alive: bool,

    /// Print the name of the session as JSON on standard output
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

/// Stop a session of the daemon, and print its summary
///
/// Also ends the recording of a running `trace record`, whose COMMAND continues.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  trace stop            # the only session
  trace stop 4242       # the `trace record` of this process id
  trace stop flight --json")]
pub(crate) struct StopArgs {
    #[command(flatten)]
    pub(crate) session: SessionName,

    /// Exit with 3 if records were dropped, there are none, or a program did not
    /// reply to the stop in time
    #[arg(long)]
    pub(crate) strict: bool,

    /// Print the summary as JSON on standard output
    #[arg(long)]
    pub(crate) json: bool,

    /// Print only warnings and errors
    #[arg(short, long)]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

/// Stop a session of the daemon, and remove its archive
///
/// An earlier archive of its name stays.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  trace abort flight")]
pub(crate) struct AbortArgs {
    #[command(flatten)]
    pub(crate) session: SessionName,

    /// Print the name of the session as JSON on standard output
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

/// Stop a session of the daemon or of `trace record`, until `trace resume`
///
/// Programs do not record, and keep their buffers. The archive stays open: it will
/// have an event `recording interrupted` for the time between.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  trace pause            # the only session
  trace pause web && ./warm-up && trace resume web")]
pub(crate) struct PauseArgs {
    #[command(flatten)]
    pub(crate) session: SessionName,

    /// Print the name of the session as JSON on standard output
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

/// Start a session again that `trace pause` has stopped
///
/// Its archive continues.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  trace resume web
  trace resume web --disposition clear-entire --add 'db*'")]
pub(crate) struct ResumeArgs {
    #[command(flatten)]
    pub(crate) session: SessionName,

    /// Treatment of records that are in the buffers since before the pause. In
    /// streaming mode, full buffers are in the archive already
    #[arg(long, value_enum, default_value_t = Disposition::Retain)]
    pub(crate) disposition: Disposition,

    /// Categories or prefixes (`net*`) to record in addition from now on, or groups
    /// (`#web`); comma-separated
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse_category)]
    pub(crate) add: Vec<String>,

    /// Print the name of the session as JSON on standard output
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

/// Write a snapshot of a session of the daemon, which continues
///
/// A running `trace record` is such a session, too: NAME is its process id, or the
/// name of its archive without `.fxt`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  trace snapshot flight -o slow.fxt && trace view slow.fxt
  trace snapshot 4242 -o now.fxt        # of the `trace record` of this process id")]
pub(crate) struct SnapshotArgs {
    #[command(flatten)]
    pub(crate) session: SessionName,

    /// Archive to write, or - for standard output
    #[arg(short, long, value_name = "FILE", default_value = "snapshot.fxt")]
    pub(crate) output: PathBuf,

    /// Print the size in bytes as JSON on standard output
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

/// Show or change the categories of a session of the daemon or of `trace record`
///
/// The session continues, and programs are not interrupted. Events of an added
/// category are recorded from now on, those of a removed one until now.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  trace categories web
  trace categories web --add 'db*' --remove http.cache")]
pub(crate) struct CategoriesArgs {
    #[command(flatten)]
    pub(crate) session: SessionName,

    /// Categories or prefixes (`net*`) to add, of one program (`web/net*`), or groups
    /// (`#web`); comma-separated
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse_category)]
    pub(crate) add: Vec<String>,

    /// Categories, prefixes or groups to remove; comma-separated
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse_category)]
    pub(crate) remove: Vec<String>,

    /// Print the category patterns as JSON on standard output
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

/// Print the events of a session of the daemon, or of a growing archive, as they come
///
/// The session has to be in streaming mode. It does not wait for this command: if
/// the output is slow, events are dropped, and reported. An archive that
/// `trace record` writes ends when it is complete.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Exit status:
  0 at the end of the session or archive, 3 if records were dropped or malformed

Examples:
  trace follow                        # the only session
  trace follow web -n request --format json | jq .duration_ns
  trace record -o app.fxt -- ./app & trace follow app.fxt")]
pub(crate) struct FollowArgs {
    /// Session, or archive: a name with a slash, one that ends in .fxt, or a file if there is no
    /// such session
    /// [default: the only session]
    #[arg(value_name = "NAME|FILE", default_value = "", hide_default_value = true)]
    pub(crate) input: String,

    #[command(flatten)]
    pub(crate) selection: Selection,

    /// Format of the output
    #[arg(long, value_enum, default_value_t = FollowFormat::Text)]
    pub(crate) format: FollowFormat,

    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

/// Show what works on this machine, what is missing for what, and how to get it
#[derive(Debug, Args)]
#[command(after_long_help = "\
Exit status:
  0 if programs can be recorded, 1 if not

Example:
  trace doctor")]
pub(crate) struct DoctorArgs {
    /// Print the findings as JSON
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

/// The format of `trace follow`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FollowFormat {
    /// A line for each event, as `trace dump` prints it
    Text,
    /// A JSON object for each event, on a line of its own
    Json,
    /// An archive, with all names
    Fxt,
}

/// Show the sessions of the daemon, or the programs of one
///
/// Each running `trace record` of this user is shown with its process id. Of a
/// oneshot or circular session that shares programs with others, the number of
/// events is an upper bound until its records are collected.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  trace status
  trace status flight    # records, losses and buffers of each program")]
pub(crate) struct StatusArgs {
    /// Session, or the process of a `trace record`, whose programs are shown
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,

    /// Print JSON on standard output
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

/// List the programs, categories, groups or sessions of the daemon
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  trace list providers
  trace list categories --json")]
pub(crate) struct ListArgs {
    /// The items
    #[arg(value_enum, value_name = "ITEMS")]
    pub(crate) items: Items,

    /// Print JSON on standard output
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

/// What `trace list` lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Items {
    /// Programs that have registered
    Providers,
    /// Categories of these programs, with their descriptions
    Categories,
    /// Category groups of the daemon's configuration
    Groups,
    /// Sessions
    Sessions,
}
