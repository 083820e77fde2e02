//! Tests of shaped virtual clock.
