"""Train as the command line does: python run_training.py RECIPE OUTPUT [--resume]."""

import sys
from pathlib import Path

import torch

from copyfit.config import read_toml
from copyfit.errors import CopyfitError
from copyfit.training.recipe import Recipe
from copyfit.training.run import train


def main(recipe: str, output: str, *flags: str) -> int:
    torch.set_num_threads(1)
    try:
        train(read_toml(Path(recipe), Recipe), Path(output), resume="--resume" in flags, device="cpu")
    except CopyfitError as problem:
        sys.stderr.write(f"copyfit: error: {problem}\n")
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
