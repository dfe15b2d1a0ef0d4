"""What a version promises: documents, versions, verdicts, canary arithmetic. Pure."""
