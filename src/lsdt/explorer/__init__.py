"""One page for people: click an arm and see why it is out. It opens offline and fetches nothing.

`content` is what the page holds, as plain data, `playground` what the sliders of the examples show, `page`
writes it.
"""

from lsdt.explorer.content import page_content
from lsdt.explorer.page import render_page, write_page

__all__ = ["page_content", "render_page", "write_page"]
