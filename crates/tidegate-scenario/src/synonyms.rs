//! Names that other tools and engineers use for keys of our files, for the suggestions about unknown keys.

/// Our keys, and what they are called elsewhere: in `tc`, `nftables`, routers' command lines, RFCs.
const SYNONYMS: &[(&str, &[&str])] = &[
    // Rates, shares and limits.
    (
        "rate",
        &[
            "bandwidth",
            "bw",
            "speed",
            "throughput",
            "capacity",
            "cir",
            "committed_rate",
            "min_rate",
            "guarantee",
            "guaranteed_rate",
            "bitrate",
        ],
    ),
    ("peak_rate", &["pir", "peakrate", "peak_information_rate"]),
    ("burst", &["cbs", "burst_size", "committed_burst", "bucket", "tokens"]),
    ("excess_burst", &["ebs", "pbs", "excess_burst_size"]),
    ("shape", &["ceil", "ceiling", "max_rate", "maximum_rate", "cap", "shaper", "shaping", "tbf", "rate_limit"]),
    ("police", &["policer", "policing"]),
    ("weight", &["share", "shares"]),
    ("priority", &["prio", "precedence", "rank"]),
    ("limit", &["qlen", "queue_limit", "queue_length", "queue_size", "depth", "max_queue", "txqueuelen"]),
    ("buffer", &["buffer_size", "memory", "buffers"]),
    ("longest_frame", &["mtu", "max_frame", "maximum_frame", "frame_size"]),
    ("overhead", &["encapsulation_overhead", "linklayer", "link_layer"]),
    ("delay", &["latency", "propagation", "max_delay", "delay_bound"]),
    ("loss", &["loss_rate", "drop_rate", "loss_probability"]),
    ("scheduler", &["qdisc", "discipline", "algorithm", "queueing", "queuing"]),
    ("aqm", &["queue_management", "red", "codel", "fq_codel", "pie", "wred", "random_detect"]),
    ("parent", &["parent_class", "below"]),
    ("promise", &["sla", "slo", "target"]),
    ("set", &["remark", "mark", "rewrite"]),
    ("match", &["filter", "filters", "rule", "rules", "matches", "selector", "classifier", "classify"]),
    ("policy", &["policies", "policy_map"]),
    ("class", &["class_map", "traffic_class"]),
    ("down", &["download", "downlink", "downstream", "down_rate", "ingress"]),
    ("up", &["upload", "uplink", "upstream", "up_rate", "egress"]),
    ("addresses", &["address", "ip", "ips", "prefixes", "host", "hosts"]),
    // Fields of packets.
    ("source", &["src", "saddr", "ip_src", "src_ip", "source_ip", "source_address", "src_addr", "from"]),
    ("destination", &["dst", "dest", "daddr", "ip_dst", "dst_ip", "destination_ip", "destination_address", "dst_addr", "to"]),
    ("source_port", &["sport", "src_port", "port", "ports"]),
    ("destination_port", &["dport", "dst_port", "dest_port", "port", "ports"]),
    ("protocol", &["proto", "ip_proto", "ip_protocol", "next_header", "l4proto"]),
    ("dscp", &["tos", "ds", "dsfield", "diffserv", "ip_dscp", "traffic_class", "code_point"]),
    ("ecn", &["ip_ecn", "congestion"]),
    ("fragment", &["frag", "fragments", "ip_frag"]),
    ("tcp_flags", &["flags", "tcpflags", "syn"]),
    ("flow_label", &["flowlabel", "flowlbl", "ip6_flow_label"]),
    ("length", &["len", "size", "packet_length", "packet_size", "frame_length", "frame_size", "pkt_len"]),
    ("vlan", &["vid", "vlan_id", "tag", "dot1q", "outer_vlan", "svlan", "s_vlan", "s_tag"]),
    ("inner_vlan", &["cvlan", "c_vlan", "c_tag", "customer_vlan", "inner_tag", "vlan_inner", "cvlan_id", "second_vlan"]),
    ("vlan_priority", &["pcp", "cos", "vlan_prio", "vlan_pcp", "dot1p", "802_1p"]),
    ("ethernet_type", &["ethertype", "ether_type", "eth_type", "ether_proto"]),
    ("source_mac", &["smac", "src_mac", "mac_source", "mac_src", "eth_src", "ether_saddr", "mac"]),
    ("destination_mac", &["dmac", "dst_mac", "mac_destination", "mac_dst", "eth_dst", "ether_daddr", "mac"]),
    ("mpls_label", &["label"]),
    ("mpls_traffic_class", &["exp", "mpls_exp", "mpls_tc"]),
    ("not", &["except", "exclude", "unless", "exceptions"]),
    // Simulations.
    ("duration", &["time", "run_time", "stop_time", "seconds"]),
    ("warm_up", &["warmup", "skip"]),
    ("packet", &["packet_size", "packet_length", "frame", "size", "length"]),
    ("congestion", &["congestion_control", "cc", "cca"]),
    ("path", &["route", "links", "hops"]),
    ("count", &["number", "n", "instances"]),
];

/// Those of these keys that go by the name elsewhere.
pub(crate) fn known_elsewhere<'a>(written: &str, keys: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let written = written.to_lowercase().replace('-', "_");
    let means = |key: &&str| SYNONYMS.iter().any(|(ours, names)| ours == key && names.contains(&written.as_str()));
    keys.into_iter().filter(means).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema;
    use serde_json::Value;

    /// The keys of every table of a scenario file.
    fn tables() -> Vec<Vec<&'static str>> {
        let tables = schema()["$defs"].as_object().unwrap().values().chain([schema()]);
        let keys = |table: &'static Value| Some(table["properties"].as_object()?.keys().map(String::as_str).collect());
        tables.filter_map(keys).collect()
    }

    #[test]
    fn every_key_is_one_and_no_synonym_hides_behind_a_key_of_the_same_table() {
        let tables = tables();
        for (key, names) in SYNONYMS {
            let with: Vec<_> = tables.iter().filter(|table| table.contains(key)).collect();
            assert!(!with.is_empty(), "no table has `{key}`");
            for name in *names {
                assert!(with.iter().any(|table| !table.contains(name)), "`{name}` is a key wherever `{key}` is one");
            }
        }
    }
}
