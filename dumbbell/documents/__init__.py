"""YAML documents that people write (scenarios, hosts files, files of jobs), read and checked: an error names file, line, key and what was
expected."""
