"""Other anonymizers under the same contract, plugged in by entry points."""
