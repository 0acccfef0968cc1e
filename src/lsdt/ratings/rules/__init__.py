"""Rules that turn rating differences into `relations`, and the choice of `epsilon`."""
