"""A busy machine is no failure: hypothesis' limit of 200 ms an example is off."""

from hypothesis import settings

settings.register_profile("fuzz", deadline=None)
settings.load_profile("fuzz")
