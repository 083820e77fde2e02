//! A Verilated design in a shared library: its ports as bytes, and its clock. The only module with `unsafe`.
//!
//! `cargo xtask rtl` makes the library of `rtl/tb/bench.cpp` and of what Verilator writes. Why the calls are sound:
//! * The functions have the signatures below: both files say so, and only that task builds such libraries.
//! * `bench_port` gives addresses of variables inside the design, which do not move until `bench_free`.
//! * The design runs only inside calls that borrow [`Design`] mutably, so nothing changes a port while it is borrowed.
//! * The library is closed after the design is freed, by the order of the fields.
//! * The design holds pointers, so [`Design`] stays in the thread that made it.

#![allow(unsafe_code)]

use libloading::Library;
use std::ffi::{CStr, c_char, c_void};
use std::path::Path;

type New = unsafe extern "C" fn(u32) -> *mut c_void;
type Call = unsafe extern "C" fn(*mut c_void);
type Place = unsafe extern "C" fn(*mut c_void, usize, *mut *const c_char, *mut usize) -> *mut c_void;

pub struct Design {
    bench: *mut c_void,
    ports: Vec<Port>,
    settle: Call,
    edge: Call,
    free: Call,
    _library: Library,
}

struct Port {
    name: String,
    address: *mut u8,
    bytes: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PortNumber(pub(crate) usize);

impl Design {
    /// The design in this library, before its reset. Registers without a reset begin with values that follow from `seed`.
    ///
    /// # Errors
    /// If the file is not such a library.
    pub fn load(path: &Path, seed: u64) -> Result<Design, String> {
        let wrong = |error: libloading::Error| format!("{} is not a Verilated design: {error}", path.display());
        // SAFETY: see the head of this file; loading runs the initialisers of the C++ library and nothing else.
        unsafe {
            let library = Library::new(path).map_err(wrong)?;
            let new = *library.get::<New>(b"bench_new").map_err(wrong)?;
            let place = *library.get::<Place>(b"bench_port").map_err(wrong)?;
            let [settle, edge, free] = [
                *library.get::<Call>(b"bench_settle").map_err(wrong)?,
                *library.get::<Call>(b"bench_edge").map_err(wrong)?,
                *library.get::<Call>(b"bench_free").map_err(wrong)?,
            ];
            let bench = new((seed ^ seed >> 32) as u32);
            let mut ports = Vec::new();
            loop {
                let (mut name, mut bytes) = (std::ptr::null(), 0);
                let address = place(bench, ports.len(), &raw mut name, &raw mut bytes).cast::<u8>();
                if address.is_null() {
                    break;
                }
                ports.push(Port { name: CStr::from_ptr(name).to_string_lossy().into_owned(), address, bytes });
            }
            Ok(Design { bench, ports, settle, edge, free, _library: library })
        }
    }

    /// The port of this name; `None` if the design has none.
    pub fn port(&self, name: &str) -> Option<PortNumber> {
        self.ports.iter().position(|port| port.name == name).map(PortNumber)
    }

    /// The bits of a port, from the lowest. An output has its value after the last half cycle.
    pub fn bits(&self, port: PortNumber) -> &[u8] {
        let port = &self.ports[port.0];
        // SAFETY: see the head of this file.
        unsafe { std::slice::from_raw_parts(port.address, port.bytes) }
    }

    /// The bits of an input, to be set before [`Design::settle`]; those beyond its width stay 0.
    pub fn bits_mut(&mut self, port: PortNumber) -> &mut [u8] {
        let port = &self.ports[port.0];
        // SAFETY: see the head of this file.
        unsafe { std::slice::from_raw_parts_mut(port.address, port.bytes) }
    }

    /// The first half of a clock cycle: outputs follow the inputs.
    pub fn settle(&mut self) {
        // SAFETY: see the head of this file.
        unsafe { (self.settle)(self.bench) }
    }

    /// The second half: registers take their next values.
    pub fn edge(&mut self) {
        // SAFETY: see the head of this file.
        unsafe { (self.edge)(self.bench) }
    }
}

impl Drop for Design {
    fn drop(&mut self) {
        // SAFETY: see the head of this file; nothing uses the design any more.
        unsafe { (self.free)(self.bench) }
    }
}
