from .client.clients import Client as Client
from .hosting.service import Service as Service
from .keys import KeyRing as KeyRing, add_key as add_key, open_again as open_again, remove_key as remove_key
from .server import serve as serve, start_log as start_log
from .settings import Settings as Settings
