"""The worker's HTTP surface: what each family of clients asks, and how it is answered."""
