"""What operators do to documents: compare, check, show what would move, write. Decisions are pure; places do the IO."""
