"""The acts of the tour, one file each: what is asked, what was seen, and which claims that bears out."""
