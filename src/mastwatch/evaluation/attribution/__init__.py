"""How good attribution is on failed runs whose decisive step people have marked (Who&When)."""
