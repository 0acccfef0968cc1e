"""From differences to `relations`, and which `epsilon`."""
