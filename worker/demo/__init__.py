"""The demo model: its data set, how it is trained, its bundles, and the accident of one of them."""
