"""What a worker says while it serves: its standing, stamps, log lines and receipts."""
