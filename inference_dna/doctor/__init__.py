"""Reads a project's source for what lets one request change another's answer; nothing of it is imported or run."""
