"""From differences to `relations`, and which epsilon.

`epsilon_grid` scans all values, `epsilon_search` is the paper's search.
"""
