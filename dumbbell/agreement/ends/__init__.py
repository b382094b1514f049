"""One end of a TCP connection, packet by packet: random peers play against the simulator's end, and then against the real kernel's."""
