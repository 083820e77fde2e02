//! Real packets between two Linux interfaces through the ports of tidegate-core.
