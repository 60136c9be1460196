//! Packets in, events out.
