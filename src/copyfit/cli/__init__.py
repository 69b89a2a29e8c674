"""The command line: flags in, data on stdout, talk on stderr."""
