from .content import page_content as page_content
from .page import check_page_path as check_page_path, render_page as render_page, write_page as write_page
from .playground import playground as playground
