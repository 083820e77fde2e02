//! ATM: cells, and the frames that AAL5 carries in them.
//!
//! | module | holds |
//! |---|---|
//! | [`cell`] | the 53 bytes of a cell, and the fields of its header |
//! | [`hec`] | header error control: what a receiver does with a damaged header |
//! | [`aal5`] | the ATM adaptation layer 5: frames into cells |
//! | [`reassembly`] | cells into frames again, in bounded memory |
//! | [`llc_snap`] | the header that names a frame's protocol |
//! | [`conformance`] | usage parameter control: the policer of a connection |
//! | [`adapter`] | a port that sends frames as cells, with the cell scheduler |
//!
//! A frame passes through the layers and back:
//!
//! ```
//! use tidegate_atm::aal5;
//! use tidegate_atm::cell::{Header, Interface};
//! use tidegate_atm::hec::{HeaderCheck, Reception};
//! use tidegate_atm::llc_snap::{self, Protocol};
//! use tidegate_atm::reassembly::Reassembler;
//!
//! let packet = [0x45; 40];
//! let frame = llc_snap::encapsulate(Protocol::EtherType(0x0800), &packet);
//! let header = Header { vpi: 1, vci: 42, ..Header::default() };
//! let cells: Vec<_> = aal5::segment(header, Interface::User, 0, &frame).unwrap().collect();
//! assert_eq!(cells.len(), 2);
//!
//! let mut check = HeaderCheck::default();
//! let mut reassembler = Reassembler::new(1508);
//! for cell in &cells {
//!     let Reception::Valid(bytes) = check.receive(&cell.header_bytes()) else { panic!("nothing was damaged") };
//!     let header = Header::parse(bytes, Interface::User);
//!     match reassembler.push(&header, cell.payload()) {
//!         None => {}
//!         Some(frame) => {
//!             let (protocol, packet) = llc_snap::decapsulate(frame.unwrap().payload).unwrap();
//!             assert_eq!((protocol, packet), (Protocol::EtherType(0x0800), [0x45; 40].as_slice()));
//!         }
//!     }
//! }
//! ```
#![warn(missing_docs)]

pub mod aal5;
pub mod adapter;
pub mod cell;
pub mod conformance;
pub mod hec;
pub mod llc_snap;
pub mod reassembly;
