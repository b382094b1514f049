//! How far the network is known to reorder (Linux 6.12 net/ipv4/tcp_input.c, `tcp_check_sack_reordering`, `tcp_dsack_seen`).

/// The degree of reordering. Told when something arrived late without having been retransmitted, and of D-SACKs; asked by loss detection.
#[derive(Clone, Copy, Debug)]
pub(in crate::tcp::linux) struct Reordering {
    /// Segments that may overtake another before that counts as lost.
    degree: u32,
    initial: u32,
    most: u32,
    seen: bool,
    /// Duplicates that the receiver has reported.
    duplicates: u64,
}

impl Reordering {
    /// None seen yet.
    pub fn new(initial: u32, most: u32) -> Self {
        Self { degree: initial, initial, most, seen: false, duplicates: 0 }
    }

    /// Segments that may overtake another before that counts as lost.
    #[inline]
    pub fn degree(&self) -> u32 {
        self.degree
    }

    /// The degree that is presupposed before anything is known.
    pub fn initial(&self) -> u32 {
        self.initial
    }

    /// More was seen than is presupposed.
    pub fn is_known(&self) -> bool {
        self.degree > self.initial
    }

    /// Reordering was seen at all.
    pub fn was_seen(&self) -> bool {
        self.seen
    }

    /// A segment was overtaken by `distance` others; true if that is more than ever.
    pub fn note(&mut self, distance: u32) -> bool {
        self.seen = true;
        let grew = distance > self.degree;
        if grew {
            self.degree = distance.min(self.most);
        }
        grew
    }

    /// So many duplicate ACKs came that at least `degree` segments must have overtaken another (`tcp_check_reno_reordering`).
    pub fn raise_to(&mut self, degree: u32) {
        self.seen = true;
        self.degree = degree.min(self.most);
    }

    /// A timeout says that the degree was overrated.
    pub fn reset_degree(&mut self) {
        self.degree = self.degree.min(self.initial);
    }

    /// A D-SACK reports `segments` duplicates; false if there are more than were ever retransmitted, so that the network must have made them.
    pub fn explains_duplicates(&mut self, segments: u32, retransmitted: u64) -> bool {
        self.duplicates += u64::from(segments);
        self.duplicates <= retransmitted
    }
}
