"""Where documents come from: a folder now, others behind the same interface."""
