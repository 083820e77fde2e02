//! A fast packet-network simulator around the ports of tidegate-core.
