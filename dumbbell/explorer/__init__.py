"""The explorer: results and captures as one page in the browser, served on the loopback or written as a file that loads nothing."""
