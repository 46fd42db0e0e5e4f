//! A line of a format file that declares a field.

use super::error::FormatFault;

/// The parts of `field:DECLARATION; offset:N; size:N; signed:N;`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Declaration<'a> {
    /// The type and the name, as in C.
    pub(super) text: &'a str,
    pub(super) offset: usize,
    pub(super) size: usize,
    pub(super) is_signed: bool,
}

impl<'a> Declaration<'a> {
    /// Parses a line; returns `None` if it declares no field.
    pub(super) fn parse(line: &'a str) -> Option<Result<Self, FormatFault>> {
        let line = line.trim().strip_prefix("field:")?;
        Some(Self::parts(line).ok_or(FormatFault::Field))
    }

    fn parts(line: &'a str) -> Option<Self> {
        let (text, rest) = line.split_once(';')?;
        let number = |key: &str| {
            rest.split(';').find_map(|part| part.trim().strip_prefix(key)?.trim().parse().ok())
        };
        let (offset, size) = (number("offset:")?, number("size:")?);
        // Kernels before 2.6.38 have no `signed`.
        let is_signed = number("signed:") == Some(1);
        Some(Self { text: text.trim(), offset, size, is_signed })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        let line = "\tfield:char data;\toffset:16;\tsize:4080;\tsigned:1;";
        let data = Declaration { text: "char data", offset: 16, size: 4080, is_signed: true };
        assert_eq!(Declaration::parse(line), Some(Ok(data)));
        let old = Declaration { text: "u64 x", offset: 0, size: 8, is_signed: false };
        assert_eq!(Declaration::parse("field:u64 x; offset:0; size:8;"), Some(Ok(old)));
        assert_eq!(Declaration::parse("print fmt: \"field:\""), None);
        for line in ["field:", "field:u8 x; offset:-1; size:1;", "field:u8 x; offset:1;"] {
            assert_eq!(Declaration::parse(line), Some(Err(FormatFault::Field)), "{line}");
        }
    }
}
