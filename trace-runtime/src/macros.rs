//! The macros of trace points.

#[cfg(all(target_os = "linux", not(feature = "ntrace")))]
mod alert;
#[cfg(all(target_os = "linux", not(feature = "ntrace")))]
mod blob;
#[cfg(all(target_os = "linux", not(feature = "ntrace")))]
mod events;
#[cfg(all(target_os = "linux", not(feature = "ntrace")))]
mod flow;
#[cfg(all(target_os = "linux", not(feature = "ntrace")))]
#[cfg(feature = "attributes")]
mod function;
#[cfg(all(target_os = "linux", not(feature = "ntrace")))]
mod name;
#[cfg(all(target_os = "linux", not(feature = "ntrace")))]
mod object;
#[cfg(all(target_os = "linux", not(feature = "ntrace")))]
mod place;
#[cfg(all(target_os = "linux", not(feature = "ntrace")))]
mod support;
#[cfg(all(target_os = "linux", not(feature = "ntrace")))]
mod task;
#[cfg(all(target_os = "linux", not(feature = "ntrace")))]
mod track;

#[cfg(feature = "attributes")]
mod checked;
mod expected;
mod formatted;
#[cfg(not(feature = "attributes"))]
mod located;
mod off;
