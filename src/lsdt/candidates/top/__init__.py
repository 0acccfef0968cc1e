"""The arms that can be among the best m: an arm is out when m others lie strictly above it, whatever is true.

`method` runs the stages. `above` counts the arms above each along bounds on differences, in one system or in
both reflections of an order; `positions` reads them off the order of complete information.
"""
