//! Files that are no capture that is read here: what they are by their first bytes, and what to do about it.

/// The way out for what Wireshark's tools read.
const CONVERT: &str = "`editcap -F pcapng IN OUT` converts it";

/// First bytes, what such a file is, and what makes it readable.
const KNOWN: [(&[u8], &str, &str); 25] = [
    (b"BZh", "compressed with bzip2", "`bunzip2` decompresses it"),
    (&[0xfd, b'7', b'z', b'X', b'Z', 0], "compressed with xz", "`unxz` decompresses it"),
    (&[0x5d, 0, 0], "compressed with lzma", "`unlzma` decompresses it"),
    (&[0x04, 0x22, 0x4d, 0x18], "compressed with lz4", "`unlz4` decompresses it"),
    (&[0x1f, 0x9d], "compressed with compress", "`uncompress` decompresses it"),
    (&[0x1f, 0x8b], "compressed with gzip twice", "`gunzip` decompresses it once"),
    (&[0x28, 0xb5, 0x2f, 0xfd], "compressed with zstd twice", "`unzstd` decompresses it once"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", "`7z x` unpacks it"),
    (b"PK\x03\x04", "a zip archive", "`unzip` unpacks it"),
    (b"snoop\0\0\0", "a capture of Solaris snoop", CONVERT),
    (b"btsnoop\0", "a Bluetooth capture (btsnoop)", CONVERT),
    (b"RTSS", "a capture of Microsoft Network Monitor 1", CONVERT),
    (b"GMBU", "a capture of Microsoft Network Monitor 2", CONVERT),
    (b"TRSNIFF data", "a capture of the DOS Sniffer", CONVERT),
    (b"XCP\0", "a capture of the Windows Sniffer (NetXRay)", CONVERT),
    (b"iptrace ", "a capture of AIX iptrace", CONVERT),
    (b"\x7fver", "a capture of EtherPeek or AiroPeek", CONVERT),
    (b"LOGG", "a log of Vector tools (BLF)", CONVERT),
    (&[0x41, 0x41, 0x41, 0x41], "a capture of 5Views", CONVERT),
    (&[0xaa, 0xaa, 0xaa, 0xaa], "a capture of 5Views", CONVERT),
    (&[0xa1, 0xb2, 0x34, 0xcd], "a variant of pcap (0xa1b234cd)", CONVERT),
    (&[0xcd, 0x34, 0xb2, 0xa1], "a variant of pcap (0xa1b234cd)", CONVERT),
    (&[0xa1, 0x2b, 0x3c, 0x4d], "a variant of pcap (0xa12b3c4d)", CONVERT),
    (&[0x4d, 0x3c, 0x2b, 0xa1], "a variant of pcap (0xa12b3c4d)", CONVERT),
    (&[0x7f, b'E', b'L', b'F'], "a program", "a pcap or pcapng file is expected"),
];

/// What a file that begins like this is, and the way out.
pub(super) fn recognise(start: &[u8]) -> String {
    if start.is_empty() {
        return "is empty; a pcap or pcapng file is expected".into();
    }
    if let Some((_, what, way_out)) = KNOWN.iter().find(|(magic, ..)| start.starts_with(magic)) {
        return format!("is {what}, which is not read here: {way_out}");
    }
    if begins_like_erf(start) {
        return format!("looks like a capture of an Endace card (ERF), which is not read here: {CONVERT}");
    }
    if start.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\t' | b'\r' | b'\n')) {
        return "is text, not a capture: `text2pcap IN OUT` makes a capture of a hex dump".into();
    }
    let start = &start[..start.len().min(4)];
    format!("is not a capture: it begins with {start:02x?}; a pcap or pcapng file is expected. If Wireshark opens it, {CONVERT}")
}

/// ERF has no first bytes of its own: a time of this century, a type that exists, and a length that holds the header.
fn begins_like_erf(start: &[u8]) -> bool {
    let &[_, _, _, _, a, b, c, d, kind, _, high, low, ..] = start else { return false };
    let seconds = u32::from_le_bytes([a, b, c, d]);
    seconds > 946_684_800 && matches!(kind & 0x7f, 1..=48) && u16::from_be_bytes([high, low]) > 16
}
