"""The pages of the service, for people: rendered here, kept up to date by one stream.

`routes` are the handlers, `view` what they show, `live` what is pushed while a page is open.
"""

from lsdt.service.pages.routes import page_routes

__all__ = ["page_routes"]
