//! What can go wrong, in the words of the client protocol. Everything below `main.rs` returns these and nothing else.

use std::fmt::Display;

/// Each of the first five is an error class of the client protocol; the last one is an answer of its own.
#[derive(Debug, Clone, PartialEq)]
pub enum Failure {
    Refused(String),
    Protocol(String),
    Connection(String),
    Timeout(String),
    Internal(String),
    /// Not an error: this client does not do that, or not for this release.
    Unsupported(String),
}

pub type Result<T> = std::result::Result<T, Failure>;

pub fn refused<T>(message: impl Display) -> Result<T> {
    Err(Failure::Refused(message.to_string()))
}

pub fn protocol<T>(message: impl Display) -> Result<T> {
    Err(Failure::Protocol(message.to_string()))
}

pub fn unsupported<T>(reason: impl Display) -> Result<T> {
    Err(Failure::Unsupported(reason.to_string()))
}
