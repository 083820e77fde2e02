//! What a part of a divided network has for the others.

use super::exchange::Mail;
use crate::network::Network;
use crate::partition::Share;

/// What a part of a network has for the others.
pub(super) struct Outbox<'a> {
    pub network: &'a Network,
    pub share: Share<'a>,
    /// By part.
    pub mail: Vec<Mail>,
}

impl<'a> Outbox<'a> {
    pub(super) fn new(network: &'a Network, share: Share<'a>) -> Outbox<'a> {
        let mut mail: Vec<Mail> = (0..share.partition.parts).map(|_| Mail::default()).collect();
        mail.iter_mut().for_each(Mail::clear);
        Outbox { network, share, mail }
    }
}
