"""What holds for all tests: shapes are checked, time limits do not depend on the machine, one thread each."""

import os
import signal

import torch
from hypothesis import settings
from jaxtyping import install_import_hook

CHECKED = (
    "copyfit.nn.positions",
    "copyfit.nn.attention",
    "copyfit.nn.blocks",
    "copyfit.nn.convolution",
    "copyfit.nn.recurrent",
    "copyfit.models.contract",
    "copyfit.models.ensemble",
    "copyfit.models.transformer",
    "copyfit.models.bins",
    "copyfit.models.conv",
    "copyfit.models.lstm",
    "copyfit.generation.search",
    "copyfit.generation.beams",
    "copyfit.generation.constraints",
    "copyfit.generation.masks",
    "copyfit.generation.phrases",
    "copyfit.generation.rules",
    "copyfit.generation.sampling",
    "copyfit.runtime.torch_engine",
    "copyfit.training.loss",
)
install_import_hook(CHECKED, "beartype.beartype")

# Kernels are interpreted, which needs no GPU. Triton decides so when PyTorch's optimizers first import it.
os.environ["TRITON_INTERPRET"] = "1"

settings.register_profile("copyfit", deadline=None)
settings.load_profile("copyfit")
torch.set_num_threads(1)
# A shell starts what it runs in the background deaf to interrupts, and every child would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
