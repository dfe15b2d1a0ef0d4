"""How a worker reads what it is (provenance.md sections 1 to 6).

Every reader takes its source as a parameter, and reads a fact once. A fact that does not exist is None; a read that
failed is `Refused`, never None.
"""
