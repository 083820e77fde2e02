//! Capture files and the replay of a capture through a port in virtual time.
