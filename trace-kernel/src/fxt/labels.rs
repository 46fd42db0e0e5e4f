//! The fixed texts of records. A destination with a string table finds their indices by number
//! instead of by text.

/// Declares the labels with their texts.
macro_rules! labels {
    ($($label:ident $text:literal)*) => {
        /// A text that many records have: a category, or the name of an event or argument.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Label {
            $(#[doc = concat!("`", $text, "`.")] $label,)*
        }

        impl Label {
            /// All labels, by their numbers.
            pub const ALL: &'static [Self] = &[$(Self::$label,)*];

            /// Returns the text.
            #[must_use]
            pub const fn text(self) -> &'static str {
                match self {
                    $(Self::$label => $text,)*
                }
            }
        }
    };
}

labels! {
    // Categories.
    Sched "kernel:sched"
    Tasks "kernel:tasks"
    Syscall "kernel:syscall"
    Irq "kernel:irq"
    Event "kernel:event"
    Memory "kernel:memory"
    Power "kernel:power"
    Atrace "atrace"
    // Names of events.
    Migrate "migrate"
    Fork "fork"
    Exec "exec"
    Exit "exit"
    Rename "rename"
    NoFormat "event without a format"
    Marker "marker"
    ResidentMemory "resident memory"
    Frequency "frequency"
    // Names of arguments.
    From "from"
    To "to"
    Child "child"
    File "file"
    Name "name"
    Id "id"
    Text "text"
    Number "number"
    IrqNumber "irq"
    Vector "vector"
    Argument0 "arg0"
    Argument1 "arg1"
    Argument2 "arg2"
    Argument3 "arg3"
    Argument4 "arg4"
    Argument5 "arg5"
    Result "result"
    Handled "handled"
    OutgoingWeight "outgoing_weight"
    IncomingWeight "incoming_weight"
    Weight "weight"
    Waker "waker"
    Interrupt "interrupt"
    Interrupted "interrupted"
    FileMemory "file_bytes"
    AnonymousMemory "anonymous_bytes"
    SwappedMemory "swapped_bytes"
    SharedMemory "shared_bytes"
    Kilohertz "khz"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_text_has_one_label() {
        let mut texts: Vec<&str> = Label::ALL.iter().map(|label| label.text()).collect();
        texts.sort_unstable();
        texts.dedup();
        assert_eq!(texts.len(), Label::ALL.len());
        for (number, label) in Label::ALL.iter().enumerate() {
            assert_eq!(*label as usize, number);
        }
    }
}
