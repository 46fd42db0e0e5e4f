//! Events of threads, which decoders of AUX data require.

/// An event of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AuxEvent {
    /// A thread has a new name.
    Named {
        /// The process.
        process: u32,
        /// The thread.
        thread: u32,
        /// The name.
        name: String,
        /// Whether the process executes another program.
        is_exec: bool,
    },
    /// A process was created, with the code of its creator.
    Forked {
        /// The new process.
        process: u32,
        /// The new thread.
        thread: u32,
        /// The process that created it.
        creator: u32,
    },
    /// A process has mapped code.
    Mapped {
        /// The process.
        process: u32,
        /// The first address.
        address: u64,
        /// The number of bytes.
        size: u64,
        /// The offset in the file.
        offset: u64,
        /// The path of the file, or a name such as `[vdso]`.
        path: String,
        /// The file's build id, or nothing if it is unknown.
        build_id: Vec<u8>,
    },
    /// A thread gets its CPU.
    Entered {
        /// The CPU.
        cpu: u32,
        /// The process.
        process: u32,
        /// The thread.
        thread: u32,
    },
    /// A thread leaves its CPU.
    Left {
        /// The CPU.
        cpu: u32,
    },
}
