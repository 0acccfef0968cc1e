"""What compiled code may rely on: how functions are compiled and cached, random coins, threads."""
