"""An HTML page about candidates: click an arm to see why it is excluded. It works offline.

`content` collects the data of the page, `playground` the data for the sliders of the examples, `page` renders
and writes it.
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)
__all__ = [
    "page_content",
    "render_page",
    "write_page",
]
