"""The same load onto ours while the fleet grows. Flat figures mean that a request never looks at all of it."""
