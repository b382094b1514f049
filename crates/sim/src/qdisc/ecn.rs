//! Codepoints that a queue may write into the IP ECN field (RFC 3168 section 5; draft-morton-tsvwg-sce section 4).

use crate::packet::{Ecn, Packet};

/// Requests a CE mark on a packet; as [`set_ce`].
pub fn mark_ce(p: &mut Packet) -> bool {
    let mut ecn = p.ecn();
    let marked = set_ce(&mut ecn);
    p.set_ecn(ecn);
    marked
}

/// Requests a CE mark. True if the packet carries CE afterwards; false for Not-ECT, whose caller drops instead.
pub(super) fn set_ce(ecn: &mut Ecn) -> bool {
    if *ecn == Ecn::NotEct {
        return false;
    }
    *ecn = Ecn::Ce;
    true
}

/// Requests an SCE mark, which is ECT(1). True if the packet carries it afterwards; Not-ECT and CE are left alone.
pub(super) fn set_sce(ecn: &mut Ecn) -> bool {
    if matches!(*ecn, Ecn::NotEct | Ecn::Ce) {
        return false;
    }
    *ecn = Ecn::Ect1;
    true
}

#[cfg(test)]
mod tests {
    use super::{set_ce, set_sce};
    use crate::packet::Ecn;

    #[test]
    fn transitions() {
        let after = |request: fn(&mut Ecn) -> bool, mut ecn| (request(&mut ecn), ecn);
        assert_eq!(after(set_ce, Ecn::NotEct), (false, Ecn::NotEct));
        assert_eq!(after(set_ce, Ecn::Ect0), (true, Ecn::Ce));
        assert_eq!(after(set_ce, Ecn::Ect1), (true, Ecn::Ce));
        assert_eq!(after(set_ce, Ecn::Ce), (true, Ecn::Ce));
        assert_eq!(after(set_sce, Ecn::NotEct), (false, Ecn::NotEct));
        assert_eq!(after(set_sce, Ecn::Ect0), (true, Ecn::Ect1));
        assert_eq!(after(set_sce, Ecn::Ect1), (true, Ecn::Ect1));
        assert_eq!(after(set_sce, Ecn::Ce), (false, Ecn::Ce));
    }
}
