from .arms import plot_arms as plot_arms
from .candidate_line import line_form as line_form
from .candidates import plot_candidates as plot_candidates
from .check import plot_check as plot_check
from .epsilon import plot_epsilon as plot_epsilon
from .panels import (
    Dot as Dot,
    Line as Line,
    Panel as Panel,
    draw_dots as draw_dots,
    draw_panels as draw_panels,
    draw_standings as draw_standings,
)
from .regret import legend_text as legend_text, plot_regret as plot_regret, problem_text as problem_text
from .style import (
    COLOURS as COLOURS,
    WIDTH as WIDTH,
    check_ending as check_ending,
    save as save,
    write_title as write_title,
)
