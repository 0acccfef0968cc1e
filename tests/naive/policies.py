"""The naive twin of every built-in policy."""

from __future__ import annotations

from naive.policies_baselines import Imed, KlUcb, Moss, Ts, TsGaussian, Ucb1
from naive.policies_closure import LsdtClosure, MixtureClosure, SoftClosure
from naive.policies_graph import CklUcb, ClusteredTs, ImedUb, LaplacianUcb, Ossb, Osub, SpectralTs, Uts
from naive.policies_identify import Identify
from naive.policies_lsdt import LsdtCsi, LsdtPsi, LsdtTsCsi, LsdtTsPsi
from naive.policies_posterior import LsdtPosterior
from naive.policies_tails import LsdtCsiTruncated, LsdtPsiTruncated, Ucb1Truncated
from naive.policies_watchful import LsdtWatchful

TWINS = {
    "lsdt_csi": LsdtCsi,
    "lsdt_psi": LsdtPsi,
    "lsdt_ts_csi": LsdtTsCsi,
    "lsdt_ts_psi": LsdtTsPsi,
    "lsdt_closure": LsdtClosure,
    "soft_closure": SoftClosure,
    "lsdt_posterior": LsdtPosterior,
    "mixture_closure": MixtureClosure,
    "identify": Identify,
    "ucb1": Ucb1,
    "ts": Ts,
    "ts_gaussian": TsGaussian,
    "ckl_ucb": CklUcb,
    "osub": Osub,
    "ossb": Ossb,
    "kl_ucb": KlUcb,
    "moss": Moss,
    "imed": Imed,
    "imed_ub": ImedUb,
    "uts": Uts,
    "clustered_ts": ClusteredTs,
    "laplacian_ucb": LaplacianUcb,
    "spectral_ts": SpectralTs,
    "lsdt_watchful": LsdtWatchful,
}

HEAVY_TWINS = {"ucb1": Ucb1Truncated, "lsdt_csi": LsdtCsiTruncated, "lsdt_psi": LsdtPsiTruncated}
