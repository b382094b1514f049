//! When the application reads: with the last packet of a burst, or once all packets of an instant have been dealt with, as no process of Linux
//! runs before the softirq is over.

use super::Receiver;
use crate::outbox::{End, Outbox};

/// Event that the application waits for if it reads once all packets of an instant have been dealt with.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Application {
    pub waits: bool,
    /// There is something to read.
    pub some: bool,
}

impl Receiver {
    /// A segment of a burst was dealt with: the application reads the whole burst with its last segment, and waits until then.
    #[inline(never)]
    pub(super) fn read_in_burst(&mut self, is_last: bool, flow: usize, out: &mut impl Outbox) {
        if is_last {
            self.read_and_close(out);
        } else {
            self.fast_path.until = 0;
            if !std::mem::replace(&mut self.application.waits, true) {
                out.act_last(flow, End::Receiver);
            }
        }
    }

    /// All packets of this time have been dealt with: the application reads if it waited for that.
    pub fn on_application(&mut self, out: &mut impl Outbox) {
        if self.application.waits {
            self.end_merged(out);
            if self.reader.is_some() {
                // It reads when it is its turn.
                self.application = Application::default();
            } else {
                self.read_and_close(out);
            }
        }
    }

    fn read_and_close(&mut self, out: &mut impl Outbox) {
        let Application { some, .. } = std::mem::take(&mut self.application);
        self.on_read(some, out);
        self.close_at_end(out);
    }
}
