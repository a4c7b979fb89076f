"""The rules that join feedback to predictions: pure, the same for every log."""
