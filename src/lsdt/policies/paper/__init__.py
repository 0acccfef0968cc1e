"""The paper's policies: LSDT-CSI, LSDT-PSI, their Thompson versions, and those for other tails."""
