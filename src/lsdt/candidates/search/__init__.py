"""Methods that search: `probing` tries both orders of open pairs, `exact` decides arms on their `components`.

`refutation` finds a few arms whose relations exclude an arm.
"""
