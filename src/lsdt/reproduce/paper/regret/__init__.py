"""Regret of the policies, Thompson sampling, and the tables of running times.

Fig. 6 is `fig_regret_csi_a` and `fig_regret_csi_b`, Fig. 7 `fig_regret_psi_a` and `fig_regret_psi_b`, Fig. 9
`fig_ts_csi`, Fig. 10 `fig_ts_psi`, Tables 1 and 2 `table_time_csi` and `table_time_psi`.
"""
