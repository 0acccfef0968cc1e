"""Published rules that say what to play and when the best arm is known, for comparison; many runs at once."""
