"""The data plane: requests in, checked answers out. It is handed its snapshot."""
