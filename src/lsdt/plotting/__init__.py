"""Pictures of candidates, regret and the choice of epsilon.

`candidates`, `regret` and `epsilon` draw what the package answers; `panels`, `dots` and `standings` are the
forms they take, `style` how all of them look.
"""

from lsdt.plotting.candidates import save_picture
from lsdt.plotting.epsilon import draw_epsilon
from lsdt.plotting.regret import draw_regret, save_regret

__all__ = ["draw_epsilon", "draw_regret", "save_picture", "save_regret"]
