//! Reservations: requests to a running port for a rate and a bound on the delay.

use serde::{Deserialize, Serialize};

/// A request for a reservation.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reserve {
    /// The name of the reservation, and of its class.
    pub name: String,
    /// The rule for its packets, as in a file: `{ destination = "10.0.0.7", destination_port = 5004 }`.
    pub rule: String,
    /// The rate of its token bucket: what it sends in the long run, on the wire.
    pub rate_bps: u64,
    /// The burst of its token bucket, in bytes on the wire: at least the longest frame of the port.
    pub burst_bytes: u64,
    /// The bound on the delay that it asks for; without it `rate_bps` is reserved, and the answer has the bound that follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_s: Option<f64>,
    /// The policy, if the file has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// It ends after this time unless it is renewed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_s: Option<f64>,
    /// Only say what would be answered.
    #[serde(default)]
    pub dry_run: bool,
}

/// What became of a request.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Reserved {
    /// The name of the reservation.
    pub name: String,
    /// What is reserved; nothing if it was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub promise: Option<Promised>,
    /// What is short, if it was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// What would be admitted, each by itself: the request with this value.
    pub offers: Vec<Offered>,
}

/// What a reservation is promised.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Promised {
    /// The reserved rate, on the wire.
    pub rate_bps: u64,
    /// No packet within its token bucket waits longer, from its arrival to its last bit sent.
    pub delay_s: f64,
    /// The buffer of its own.
    pub buffer_bytes: u64,
}

/// A value with which a request would be admitted.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Offered {
    /// The key of [`Reserve`].
    pub key: String,
    /// Its value.
    pub value: f64,
}

/// A reservation.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Reservation {
    /// Its name.
    pub name: String,
    /// What it is promised.
    pub promise: Promised,
    /// The time after which it ends unless it is renewed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_s: Option<f64>,
}
