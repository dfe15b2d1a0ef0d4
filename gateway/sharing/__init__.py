"""Verdicts shared between gateways: who probes what, what is told, what is made of what others tell. Pure."""
