//! Shapers: schedulers that hold packets back until their contract allows them.
