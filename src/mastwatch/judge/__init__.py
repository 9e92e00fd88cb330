"""The judge: 14 verdicts on a finished run, each with evidence that was checked."""
