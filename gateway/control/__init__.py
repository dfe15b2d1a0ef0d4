"""Background work: sources into documents into the snapshot; probes; alerts. Nothing here is on a request's path."""
