//! Tests of the output port of integrated services.
