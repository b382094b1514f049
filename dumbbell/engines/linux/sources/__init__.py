"""Parts of the agent's lines for traffic: when connections come, what is drawn, datagrams, streaming."""
