"""The code of post-processing: its sources, the values it works with, and what it reads from outside."""
