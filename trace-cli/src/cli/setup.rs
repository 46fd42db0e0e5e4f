//! Arguments of the commands that install parts of `trace`, and the topic on the environment.

use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

/// Print a script that completes commands and options in a shell
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  trace completions bash > ~/.local/share/bash-completion/completions/trace
  trace completions zsh > ~/.zfunc/_trace    # a directory of $fpath
  trace completions fish > ~/.config/fish/completions/trace.fish")]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    pub(crate) shell: Shell,
}

/// Write a man page for each command
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  trace man --dir ~/.local/share/man/man1 && man trace-record")]
pub(crate) struct ManArgs {
    /// Directory to write to; created if it is missing
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: PathBuf,
}

/// The help of `trace environment`.
pub(super) const ENVIRONMENT: &str = "\
Variables of traced programs, which privileged programs ignore:
  TRACE_SOCKET          Socket of `trace record` or `trace daemon` [default:
                        $XDG_RUNTIME_DIR/trace/manager.sock, and if nothing listens
                        there /run/trace/manager.sock]. `trace record -- COMMAND` sets it
  TRACE_CLOCK           Source of timestamps: counter, boottime, syscall or coarse
                        [default: counter, or boottime if its rate is not constant]
  TRACE_OUTPUT          Trace into this file, without `trace record`. %p is replaced by
                        the id of the process, %n by its name, %t by the time, and %%
                        by a percent sign [default: off]
  TRACE_CATEGORIES      With TRACE_OUTPUT: categories as of `trace record -c`
                        [default: all]
  TRACE_BUFFER_SIZE     With TRACE_OUTPUT: size of the buffer in bytes, or as 16M
                        [default: 16M]
  TRACE_BUFFERING_MODE  With TRACE_OUTPUT: oneshot, circular or streaming
                        [default: streaming]
  TRACE_FORMAT          With TRACE_OUTPUT: fxt, or xray, which makes it a directory whose
                        recordings `trace recover DIR` makes XRay logs of [default: fxt]
  TRACE_XRAY            Functions that libtrace_xray_runtime.so records if it is preloaded.
                        `trace record --xray` sets it, and LD_PRELOAD [default: none]

Variables of this command:
  TRACE_SOCKET          Default of --socket, but of `trace record -- COMMAND`
  TRACE_LOG             Messages of `trace daemon`: error, warn, info, debug or trace
                        [default: info]
  TRACE_CONFIG          Configuration file of `trace record`, or none if empty [default:
                        $XDG_CONFIG_HOME/trace/config.toml, else
                        ~/.config/trace/config.toml]
  TRACE_XRAY_RUNTIME    Library of `trace record --xray` [default:
                        libtrace_xray_runtime.so beside this program or in ../lib]
  XDG_RUNTIME_DIR       Directory of sockets
  XDG_DATA_HOME         Directory of the interface of `trace view --setup` [default:
                        ~/.local/share]
  BROWSER               Browser of `trace view`
  TMPDIR                Directory of temporary files [default: /tmp]

Example:
  TRACE_OUTPUT=%n-%p.fxt TRACE_CATEGORIES='net*' ./server";
