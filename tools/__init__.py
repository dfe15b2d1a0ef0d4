"""Repository chores and the demo fleet. Nothing here is part of what is installed."""
