//! The standard types that implement [`ArgValue`], and the value that is recorded for each.

use std::borrow::Cow;

use super::{ArgValue, Koid, Pointer};

macro_rules! recorded_as {
    ($($type:ty => $arg:ty, $value:ident => $convert:expr;)*) => {$(
        impl ArgValue for $type {
            type Arg<'a> = $arg where Self: 'a;

            #[inline(always)]
            fn arg(&self) -> $arg {
                let $value = *self;
                $convert
            }
        }
    )*};
}

recorded_as! {
    () => (), _value => ();
    bool => bool, value => value;
    char => char, value => value;
    i8 => i32, value => i32::from(value);
    i16 => i32, value => i32::from(value);
    i32 => i32, value => value;
    i64 => i64, value => value;
    isize => i64, value => value as i64;
    u8 => u32, value => u32::from(value);
    u16 => u32, value => u32::from(value);
    u32 => u32, value => value;
    u64 => u64, value => value;
    usize => u64, value => value as u64;
    f32 => f64, value => f64::from(value);
    f64 => f64, value => value;
    Koid => Koid, value => value;
    Pointer => Pointer, value => value;
}

impl ArgValue for str {
    type Arg<'a> = &'a str;

    #[inline(always)]
    fn arg(&self) -> &str {
        self
    }
}

impl ArgValue for String {
    type Arg<'a> = &'a str;

    #[inline(always)]
    fn arg(&self) -> &str {
        self
    }
}

impl ArgValue for Cow<'_, str> {
    type Arg<'a>
        = &'a str
    where
        Self: 'a;

    #[inline(always)]
    fn arg(&self) -> &str {
        self
    }
}

impl<T> ArgValue for *const T {
    type Arg<'a>
        = Pointer
    where
        Self: 'a;

    #[inline(always)]
    fn arg(&self) -> Pointer {
        Pointer(self.addr() as u64)
    }
}

impl<T> ArgValue for *mut T {
    type Arg<'a>
        = Pointer
    where
        Self: 'a;

    #[inline(always)]
    fn arg(&self) -> Pointer {
        Pointer(self.addr() as u64)
    }
}

impl<T: ArgValue> ArgValue for Option<T> {
    type Arg<'a>
        = Option<T::Arg<'a>>
    where
        Self: 'a;

    #[inline(always)]
    fn arg(&self) -> Option<T::Arg<'_>> {
        self.as_ref().map(|value| value.arg())
    }
}

macro_rules! through_a_reference {
    ($($type:ty),*) => {$(
        impl<T: ArgValue + ?Sized> ArgValue for $type {
            type Arg<'a> = T::Arg<'a> where Self: 'a;

            #[inline(always)]
            fn arg(&self) -> T::Arg<'_> {
                (**self).arg()
            }
        }
    )*};
}

through_a_reference!(&T, &mut T, Box<T>, std::rc::Rc<T>, std::sync::Arc<T>);
