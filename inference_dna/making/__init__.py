"""How a manifest is made, written, and shown in other forms."""
