//! Numbers at a fixed offset.

use std::marker::PhantomData;

/// The byte order of a log: that of the machine that wrote it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ByteOrder {
    /// The least significant byte is first.
    Little,
    /// The most significant byte is first.
    Big,
}

/// A number of one, two, four or eight bytes.
pub trait Number: Copy + Default {
    /// The size in bytes.
    const BYTES: usize;

    /// Reads the number from the start of `bytes`; 0 if there are too few.
    fn read(bytes: &[u8], order: ByteOrder) -> Self;

    /// Stores the number at the start of `bytes`, if it fits.
    fn write(self, bytes: &mut [u8], order: ByteOrder);
}

macro_rules! number {
    ($($number:ty)*) => {
        $(impl Number for $number {
            const BYTES: usize = size_of::<$number>();

            #[inline]
            fn read(bytes: &[u8], order: ByteOrder) -> Self {
                let bytes = bytes.first_chunk().copied().unwrap_or_default();
                match order {
                    ByteOrder::Little => Self::from_le_bytes(bytes),
                    ByteOrder::Big => Self::from_be_bytes(bytes),
                }
            }

            #[inline]
            fn write(self, bytes: &mut [u8], order: ByteOrder) {
                if let Some(place) = bytes.first_chunk_mut() {
                    *place = match order {
                        ByteOrder::Little => self.to_le_bytes(),
                        ByteOrder::Big => self.to_be_bytes(),
                    };
                }
            }
        })*
    };
}

number!(u8 u16 u32 u64 i32);

/// A number of type `T` at byte `OFFSET` of a header, record or entry.
///
/// The type has no values: use it through a type alias such as
/// [`new_cpu_id::Tsc`](super::new_cpu_id::Tsc). Offsets outside of the bytes do not compile.
#[derive(Debug, Clone, Copy)]
pub struct At<T, const OFFSET: usize>(PhantomData<T>);

impl<T: Number, const OFFSET: usize> At<T, OFFSET> {
    /// Returns the number.
    #[inline]
    #[must_use]
    pub fn get<const BYTES: usize>(bytes: &[u8; BYTES], order: ByteOrder) -> T {
        const { assert!(OFFSET + T::BYTES <= BYTES, "outside of the bytes") };
        bytes.get(OFFSET..).map(|place| T::read(place, order)).unwrap_or_default()
    }

    /// Stores the number.
    #[inline]
    pub fn set<const BYTES: usize>(bytes: &mut [u8; BYTES], order: ByteOrder, value: T) {
        const { assert!(OFFSET + T::BYTES <= BYTES, "outside of the bytes") };
        if let Some(place) = bytes.get_mut(OFFSET..) {
            value.write(place, order);
        }
    }
}
