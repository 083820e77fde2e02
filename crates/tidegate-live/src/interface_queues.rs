//! The queues of an interface, and whether they suffice for several workers with AF_XDP sockets of their own.

/// How many queues an interface has, and how many its driver allows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Queues {
    /// By which frames come in.
    pub(crate) receive: u32,
    /// By which frames leave.
    pub(crate) send: u32,
    /// The most that can be set for receiving, for sending, and for both at once; 0 for what the driver does not set.
    most: [u32; 3],
}

/// Why workers get no AF_XDP sockets of an interface.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct QueueShortage {
    /// What is lacking, as the end of a sentence.
    pub(crate) why: String,
    /// What mends it.
    pub(crate) cure: String,
}

impl Queues {
    /// An interface whose driver tells nothing has one queue each way.
    pub(crate) const ONE: Queues = Queues { receive: 1, send: 1, most: [0; 3] };

    /// From what the driver answers (`struct ethtool_channels` without its command): four limits, then the present numbers; each for receiving, for sending, for others, and for
    /// both ways.
    pub(crate) fn of([most_receive, most_send, _, most_both, receive, send, _, both]: [u32; 8]) -> Queues {
        let [receive, send] = [receive, send].map(|queues| queues.saturating_add(both).max(1));
        Queues { receive, send, most: [most_receive, most_send, most_both] }
    }

    /// What lacks for workers of this number, each of which needs a queue each way; `None` if nothing does.
    pub(crate) fn shortage(self, name: &str, workers: u32) -> Option<QueueShortage> {
        let Queues { receive, send, most: [most_receive, most_send, most_both] } = self;
        if receive.min(send) >= workers {
            return None;
        }
        let have = match (receive, send) {
            (1, 1) => "1 queue each way".to_owned(),
            _ if receive == send => format!("{receive} queues each way"),
            _ => format!("{receive} to receive by and {send} to send by"),
        };
        let apart = most_receive.min(most_send);
        let cure = if most_both >= workers {
            format!("`ethtool -L {name} combined {workers}`")
        } else if apart >= workers {
            format!("`ethtool -L {name} rx {workers} tx {workers}`, and the same at the other end of a veth pair")
        } else {
            let most = most_both.max(apart).max(receive.min(send));
            format!("it can have {most} at most, so set `workers = {most}`, or leave the workers packet sockets")
        };
        Some(QueueShortage { why: format!("{name} has {have}, and each of {workers} workers needs one"), cure })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cure(channels: [u32; 8], workers: u32) -> Option<String> {
        Queues::of(channels).shortage("eth1", workers).map(|shortage| format!("{}: {}", shortage.why, shortage.cure))
    }

    #[test]
    fn the_cure_is_one_that_the_driver_takes() {
        // A card with queues for both ways, of which it has 8 at most.
        let card = |both| [0, 0, 1, 8, 0, 0, 1, both];
        assert_eq!(cure(card(2), 2), None);
        assert_eq!(cure(card(2), 4).unwrap(), "eth1 has 2 queues each way, and each of 4 workers needs one: `ethtool -L eth1 combined 4`");
        assert!(cure(card(2), 9).unwrap().ends_with(": it can have 8 at most, so set `workers = 8`, or leave the workers packet sockets"));
        // A veth pair, and one that was made with one queue.
        assert!(
            cure([4, 4, 0, 0, 1, 1, 0, 0], 2).unwrap().contains("1 queue each way")
                && cure([4, 4, 0, 0, 1, 1, 0, 0], 2).unwrap().contains("rx 2 tx 2")
        );
        assert!(cure([1, 1, 0, 0, 1, 1, 0, 0], 2).unwrap().contains("it can have 1 at most"));
        // Of a driver with both kinds, and of one that tells nothing.
        assert_eq!(Queues::of([4, 4, 0, 4, 2, 0, 0, 1]), Queues { receive: 3, send: 1, most: [4, 4, 4] });
        assert!(
            cure([4, 4, 0, 4, 2, 0, 0, 1], 2)
                .unwrap()
                .starts_with("eth1 has 3 to receive by and 1 to send by, and each of 2 workers needs one")
        );
        assert!(Queues::ONE.shortage("eth1", 2).unwrap().cure.starts_with("it can have 1 at most"));
        assert_eq!(Queues::ONE.shortage("eth1", 1), None);
    }
}
