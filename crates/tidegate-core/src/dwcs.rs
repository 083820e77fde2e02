//! Dynamic Window-Constrained Scheduling: of every y packets of a stream at most x may be late or lost, and the scheduler picks the next packet.
//!
//! A stream has a deadline that recurs once per request period, and a window constraint "x of y": of y consecutive deadlines it tolerates
//! x misses. The stream with the earliest deadline goes first; among equal deadlines, the one that tolerates least ([`Rank`]). Service
//! loosens a stream's current constraint, and a missed deadline tightens it ([`Tolerance`]). Earliest deadline first, static priority,
//! fair shares and mixtures of them are settings of this one discipline ([`Stream`]).
//!
//! An engine is driven like a scheduler: [`Dwcs::activate`] when a stream gets its first packet, [`Dwcs::select`] for a decision,
//! [`Dwcs::served`] and [`Dwcs::lost`] when the head of a stream is gone. It knows arrival times and names streams; packets stay
//! elsewhere. This is the division of labour of ShareStreams: the same engine serves a port and an end system, and is the reference of
//! the hardware. The engine with the registers of hardware is a crate of its own, `tidegate-rtl-model`.
//!
//! **Time** is counted in ticks from the start of the engine, with 64 bits that never wrap. The user of the engine defines the tick: a
//! packet slot of a loaded link (as in the papers), or a unit of real time. Hardware keeps 16 bits of it.
//!
//! **Laws**, tested with both engines:
//! 1. The stream that is served precedes every other eligible stream in the order of [`Rank`].
//! 2. A deadline advances by exactly one period for every packet served and every deadline missed, and only then. There are two
//!    exceptions: a stream that comes back after its deadline starts afresh, and [`Early::Clamp`] shortens a lead.
//! 3. After [`Dwcs::select`] no backlogged stream has a deadline that counts as missed.
//! 4. `x' <= x`, `x' <= y'`, and `y' <= y` unless the stream is in violation; a stream in violation has `x' = 0`.
//! 5. A lost head is not charged. A stream that starts afresh with a packet that is taken away at once starts afresh with the next.
//! 6. The two engines take the same decisions, always.
//!
//! **Source**: West and Poellabauer, "Analysis of a window-constrained scheduler for real-time and best-effort packet streams", RTSS 2000.
//! West, Zhang, Schwan and Poellabauer, "Dynamic window-constrained scheduling of real-time streams in media servers", IEEE Transactions on
//! Computers 53(6), 2004. Krishnamurthy, Yalamanchili, Schwan and West, "ShareStreams", section 2 and Table 1.
//!
//! | item | holds |
//! |---|---|
//! | [`Request`], [`Service`] | what an operator asks for, and how it becomes a stream |
//! | [`Stream`], [`Window`] | the attributes of one stream |
//! | [`Feasibility`], [`LeastService`] | whether all windows can be kept, and what a stream gets if they are |
//! | [`Rules`], [`Missed`], [`Early`] | what the streams of an engine have in common |
//! | [`Tolerance`] | a stream's current constraint, and the two rules that adjust it |
//! | [`Rank`] | the total order of precedence |
//! | [`Dwcs`], [`Choice`] | the calls of an engine |
//! | [`Changing`], [`Saved`] | streams that change, come and go |
//! | [`Scan`] | the engine as published, which looks at every stream at every decision: the oracle |
//! | [`GroupedDwcs`] | the engine for many streams |
//! | [`Engine`] | the faster of the two for a number of streams |

mod adaptive_group;
mod allotment;
mod engine;
mod feasibility;
mod grouped;
mod interface;
mod kinetic_key;
mod kinetic_tournament;
mod radix_heap;
mod rank;
mod rules;
mod scan;
mod service;
mod sorted_group;
mod stream;
#[cfg(test)]
mod tests;
mod tolerance;

pub(crate) use allotment::Allotment;
pub use engine::Engine;
pub use feasibility::{Feasibility, LeastService, Utilisation, Verdict};
pub use grouped::GroupedDwcs;
pub use interface::{Changing, Choice, Dwcs, Saved, Standing, Tally};
pub use rank::Rank;
pub use rules::{CLAMP, Early, LONGEST_PERIOD, Missed, NEVER, Order, Rules};
pub use scan::Scan;
pub use service::{Request, Service, resolve};
pub use stream::{Stream, StreamError, Window};
pub use tolerance::Tolerance;
