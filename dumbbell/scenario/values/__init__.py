"""Values that keys take: quantities, distributions, traces, words with several spellings."""
