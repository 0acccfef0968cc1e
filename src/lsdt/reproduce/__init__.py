"""The paper redone: one file per figure, table or check, with the claims it decides."""
