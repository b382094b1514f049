"""Real hosts in real time: which they are (`hosts`), and guests that stand in for them (`laboratory`)."""
