"""Regret of the policies, Thompson sampling, and the tables of running times.

Fig. 6a is `fig_regret_csi_a`; Figs. 6b, 7, 9 and 10 are `fig_regret`, Tables 1 and 2 `running_times`.
"""
