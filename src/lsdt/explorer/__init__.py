"""An HTML page about candidates: click an arm and see why it is out. It opens offline and fetches nothing.

`content` collects the data of the page, `playground` the data for the sliders of the examples, `page` renders
and writes it.
"""

from lsdt.explorer.content import page_content
from lsdt.explorer.page import render_page, write_page

__all__ = ["page_content", "render_page", "write_page"]
