//! Numbers in the byte order of the traced machine.

/// The byte order of the machine that wrote the data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ByteOrder {
    /// Least significant byte first.
    #[default]
    Little,
    /// Most significant byte first.
    Big,
}

impl ByteOrder {
    /// The byte order of this machine.
    pub const NATIVE: Self = if cfg!(target_endian = "big") { Self::Big } else { Self::Little };

    /// Returns the unsigned number that `bytes` are, or `None` unless they are 1, 2, 4 or 8.
    #[inline]
    #[must_use]
    pub fn number(self, bytes: &[u8]) -> Option<u64> {
        match bytes.len() {
            1 => bytes.first().map(|byte| u64::from(*byte)),
            2 => self.fixed(bytes, u16::from_le_bytes, u16::from_be_bytes),
            4 => self.fixed(bytes, u32::from_le_bytes, u32::from_be_bytes),
            8 => self.fixed(bytes, u64::from_le_bytes, u64::from_be_bytes),
            _ => None,
        }
    }

    /// Returns the number of 2 bytes.
    #[inline]
    pub(crate) fn two(self, bytes: &[u8; 2]) -> u16 {
        match self {
            Self::Little => u16::from_le_bytes(*bytes),
            Self::Big => u16::from_be_bytes(*bytes),
        }
    }

    /// Returns the number of 4 bytes.
    #[inline]
    pub(crate) fn four(self, bytes: &[u8; 4]) -> u32 {
        match self {
            Self::Little => u32::from_le_bytes(*bytes),
            Self::Big => u32::from_be_bytes(*bytes),
        }
    }

    /// Returns the number of 8 bytes.
    #[inline]
    pub(crate) fn eight(self, bytes: &[u8; 8]) -> u64 {
        match self {
            Self::Little => u64::from_le_bytes(*bytes),
            Self::Big => u64::from_be_bytes(*bytes),
        }
    }

    #[inline]
    fn fixed<const N: usize, T: Into<u64>>(
        self,
        bytes: &[u8],
        little: fn([u8; N]) -> T,
        big: fn([u8; N]) -> T,
    ) -> Option<u64> {
        let bytes = bytes.try_into().ok()?;
        Some(match self {
            Self::Little => little(bytes).into(),
            Self::Big => big(bytes).into(),
        })
    }

    /// Returns the number of `size` bytes at `offset`, or `None` if `data` is shorter.
    #[inline]
    #[must_use]
    pub fn number_at(self, data: &[u8], offset: usize, size: usize) -> Option<u64> {
        self.number(data.get(offset..)?.get(..size)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_each_size() {
        let bytes = [1, 2, 3, 4, 5, 6, 7, 8, 9];
        let numbers = |order: ByteOrder| [1, 2, 4, 8].map(|size| order.number(&bytes[..size]));
        assert_eq!(
            numbers(ByteOrder::Little),
            [1, 0x0201, 0x0403_0201, 0x0807_0605_0403_0201].map(Some)
        );
        assert_eq!(
            numbers(ByteOrder::Big),
            [1, 0x0102, 0x0102_0304, 0x0102_0304_0506_0708].map(Some)
        );
        for size in [0, 3, 5, 9] {
            assert_eq!(ByteOrder::Little.number(&bytes[..size]), None);
        }
        assert_eq!(ByteOrder::Big.number_at(&bytes, 7, 2), Some(0x0809));
        assert_eq!(ByteOrder::Big.number_at(&bytes, 8, 2), None);
        assert_eq!(ByteOrder::Big.number_at(&bytes, usize::MAX, 2), None);
    }
}
