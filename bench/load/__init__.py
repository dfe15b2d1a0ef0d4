"""Load: what sends requests, and what it measured."""
