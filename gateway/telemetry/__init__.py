"""What the gateway tells of itself: access records, events, metrics. Each fact is counted and written in one place."""
