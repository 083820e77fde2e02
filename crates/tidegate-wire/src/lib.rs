//! Frames: header parsing, checksums and segmentation.
