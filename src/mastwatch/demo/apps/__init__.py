"""One app per story: ordinary user code, with a scripted model where the real one would be."""
