"""The four ways to find the step; each is ``async run(case) -> Found``."""
