import json
import os
import random
import shutil
import signal
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from copyfit.checkpoint import Checkpoint, load_weights, open_checkpoint, read_config, save_checkpoint
from copyfit.combining import Member
from copyfit.errors import CheckpointError, RequestError
from copyfit.models.build import build_model
from copyfit.runtime.load import load_engine
from copyfit.runtime.torch_model import open_model, pick_device
from support_checkpoint import CHECKPOINT, WEIGHTS, read_all, refused
from support_writing import TEXTS, change_config, forge, save_tiny

CHECKED = ("model.safetensors", "source_tokenizer.json", "target_tokenizer.json", "words.txt")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save_checkpoint(tmp_path / "model", CHECKPOINT, WEIGHTS)
    return tmp_path / "model"


def test_a_checkpoint_is_read_as_it_was_saved(folder: Path) -> None:
    checkpoint, weights = read_all(folder)
    assert checkpoint.name == "tiny"
    assert checkpoint.model == CHECKPOINT.model
    assert (checkpoint.unit, checkpoint.natural_length, checkpoint.longest_source) == ("char", 24, 150)
    assert checkpoint.facts == {"Training pairs": 8, "Note": "made up"}
    assert list(checkpoint.words) == list(CHECKPOINT.words)
    assert checkpoint.target.pieces == CHECKPOINT.target.pieces
    for text in TEXTS:
        assert checkpoint.source.encode(text) == CHECKPOINT.source.encode(text)
        assert checkpoint.target.encode(text) == CHECKPOINT.target.encode(text)
    assert weights.keys() == WEIGHTS.keys()
    assert all(np.array_equal(weights[name], WEIGHTS[name]) for name in WEIGHTS)


def test_the_folder_holds_the_promised_files_and_a_card_that_tells_what_it_is(folder: Path) -> None:
    assert {path.name for path in folder.iterdir()} == {*CHECKED, "config.json", "README.md"}
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert "# tiny" in card
    assert "| Training pairs | 8 |" in card
    assert "| Trained to count | char |" in card


def test_a_card_survives_bars_and_line_ends_in_facts(tmp_path: Path) -> None:
    checkpoint = Checkpoint(**{**CHECKPOINT.__dict__, "facts": {"Data": "a|b\nc"}})
    save_checkpoint(tmp_path / "model", checkpoint, WEIGHTS)
    assert "| Data | a\\|b c |" in (tmp_path / "model" / "README.md").read_text(encoding="utf-8")


def test_the_model_of_a_checkpoint_has_its_weights(folder: Path) -> None:
    model = open_model(folder, open_checkpoint(folder))
    assert not model.training
    for name, parameter in model.named_parameters():
        assert np.array_equal(parameter.numpy(), WEIGHTS[name])


def test_opening_a_model_leaves_the_random_state_alone(folder: Path) -> None:
    torch.manual_seed(5)
    before = torch.get_rng_state()
    open_model(folder, open_checkpoint(folder))
    assert torch.equal(torch.get_rng_state(), before)


def test_a_tied_table_may_be_saved_under_both_of_its_names(tmp_path: Path) -> None:
    model = build_model(
        CHECKPOINT.model, source_size=CHECKPOINT.source.size, target_size=CHECKPOINT.target.size
    )
    state = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
    assert len(state) > len(list(model.named_parameters()))
    save_checkpoint(tmp_path / "model", CHECKPOINT, state)
    opened = open_model(tmp_path / "model", open_checkpoint(tmp_path / "model"))
    assert all(torch.equal(tensor, opened.state_dict()[name]) for name, tensor in model.state_dict().items())


@pytest.mark.parametrize("name", CHECKED)
def test_a_file_cut_off_anywhere_is_refused(folder: Path, name: str) -> None:
    content = (folder / name).read_bytes()
    lengths = {0, 1, 7, 8, 9, len(content) - 1, *range(0, len(content), max(len(content) // 40, 1))}
    for length in sorted(lengths - {len(content)}):
        (folder / name).write_bytes(content[:length])
        assert name in refused(folder)


@pytest.mark.parametrize("name", CHECKED)
def test_a_file_with_a_flipped_bit_anywhere_is_refused(folder: Path, name: str) -> None:
    content = (folder / name).read_bytes()
    draw = random.Random(name)
    for _ in range(40):
        flipped = bytearray(content)
        flipped[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
        (folder / name).write_bytes(flipped)
        assert name in refused(folder)


def test_a_config_cut_off_anywhere_is_refused(folder: Path) -> None:
    content = (folder / "config.json").read_bytes()
    for length in range(0, len(content) - 2, 29):
        (folder / "config.json").write_bytes(content[:length])
        assert "config.json must be JSON" in refused(folder)


@pytest.mark.parametrize("name", [*CHECKED, "config.json"])
def test_a_missing_file_is_named(folder: Path, name: str) -> None:
    (folder / name).unlink()
    assert f"must hold {name}, which is missing" in refused(folder)


def test_the_card_may_be_missing(folder: Path) -> None:
    (folder / "README.md").unlink()
    read_all(folder)


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    assert f"{tmp_path / 'nothing'} does not exist" in refused(tmp_path / "nothing")


def test_a_file_is_no_model(folder: Path) -> None:
    assert "is a file" in refused(folder / "config.json")


@pytest.mark.parametrize("value", [0, 2, "1", None, [1]])
def test_an_unknown_format_is_refused(folder: Path, value: object) -> None:
    change_config(folder, format=value)
    assert f"format must be 1, given {value!r}" in refused(folder)


@pytest.mark.parametrize("content", ["[]", "null", "7", '"text"'])
def test_a_config_that_is_no_object_is_refused(folder: Path, content: str) -> None:
    (folder / "config.json").write_text(content, encoding="utf-8")
    assert "format must be 1" in refused(folder)


@pytest.mark.parametrize(
    "change",
    [
        {"natural_length": 0},
        {"longest_source": "many"},
        {"unit": "pixel"},
        {"unit": 7},
        {"more": 1},
        {"files": {}},
        {"model": {"architecture": "oracle"}},
    ],
)
def test_a_config_with_a_wrong_value_is_refused(folder: Path, change: dict[str, object]) -> None:
    change_config(folder, **change)
    refused(folder)


@pytest.mark.parametrize("side", ["source", "target"])
def test_a_config_that_disagrees_with_a_vocabulary_is_refused(folder: Path, side: str) -> None:
    change_config(folder, **{f"{side}_size": 99})
    assert f"{side}_tokenizer.json must hold the 99 tokens" in refused(folder)


def test_a_vocabulary_of_another_model_is_refused(folder: Path, tmp_path: Path) -> None:
    other = save_tiny(tmp_path / "other", "character")
    forge(folder, "target_tokenizer.json", (other / "target_tokenizer.json").read_bytes())
    assert "target_tokenizer.json must hold" in refused(folder)


@pytest.mark.parametrize("name", ["source_tokenizer.json", "target_tokenizer.json"])
@pytest.mark.parametrize("content", [b"", b"{", b"{}", b"[]", b"\xff\xfe"])
def test_a_forged_vocabulary_is_refused(folder: Path, name: str, content: bytes) -> None:
    forge(folder, name, content)
    refused(folder)


def test_a_vocabulary_that_is_a_folder_is_refused(folder: Path) -> None:
    (folder / "words.txt").unlink()
    (folder / "words.txt").mkdir()
    assert "cannot read" in refused(folder)


def test_weights_that_are_a_folder_are_refused(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors").mkdir()
    assert "cannot read" in refused(folder)


def test_saving_replaces_a_model_but_no_other_folder(folder: Path, tmp_path: Path) -> None:
    zeros = {name: np.zeros_like(array) for name, array in WEIGHTS.items()}
    save_checkpoint(folder, CHECKPOINT, zeros)
    assert not any(array.any() for array in load_weights(folder).values())
    (tmp_path / "empty").mkdir()
    save_checkpoint(tmp_path / "empty", CHECKPOINT, WEIGHTS)
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "love.txt").touch()
    with pytest.raises(CheckpointError, match="letters must be a new, an empty or a model folder"):
        save_checkpoint(tmp_path / "letters", CHECKPOINT, WEIGHTS)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "letters", "model"]


def test_saving_where_nothing_can_be_written_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(CheckpointError, match="cannot write the model to"):
        save_checkpoint(tmp_path / "file" / "model", CHECKPOINT, WEIGHTS)
    with pytest.raises(CheckpointError, match="must be a new, an empty or a model folder"):
        save_checkpoint(tmp_path / "file", CHECKPOINT, WEIGHTS)


def save_until(folder: Path, steps: int) -> bool:
    """Save in a process that is killed at the given step that touches the disk; tell whether it was."""
    child = os.fork()
    if child == 0:
        left = [steps]

        def die_in_time(event: str, _: tuple[object, ...]) -> None:
            if event in {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir"}:
                left[0] -= 1
                if left[0] == 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(die_in_time)
        save_checkpoint(folder, CHECKPOINT, {name: array + 1 for name, array in WEIGHTS.items()})
        os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def test_a_save_that_is_killed_at_any_step_leaves_the_old_or_the_new_model(
    folder: Path, tmp_path: Path
) -> None:
    name = "source_table.weight"
    seen: list[int] = []
    killed = True
    while killed:
        killed = save_until(folder, len(seen) + 1)
        seen.append(round(float((read_all(folder)[1][name] - WEIGHTS[name]).mean())))
        if seen[-1]:
            save_checkpoint(folder, CHECKPOINT, WEIGHTS)
    assert len(seen) > 10
    assert set(seen) == {0, 1}
    save_checkpoint(folder, CHECKPOINT, WEIGHTS)
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_a_model_can_be_moved(folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "Überschrift 見出し"
    shutil.move(folder, target)
    read_all(target)


def test_a_model_in_the_present_folder_can_be_opened(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    assert read_config(Path()).name == "tiny"


def test_the_config_is_plain_json_with_the_version_that_wrote_it(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    assert config["copyfit"].count(".") == 2
    assert config["parameters"] == sum(array.size for array in WEIGHTS.values())


def test_a_tied_table_that_is_saved_under_two_names_is_counted_once(tmp_path: Path) -> None:
    model = build_model(
        CHECKPOINT.model, source_size=CHECKPOINT.source.size, target_size=CHECKPOINT.target.size
    )
    # As a trained model is saved; on a GPU the two copies share no memory.
    saved = {name: tensor.numpy(force=True).copy() for name, tensor in model.state_dict().items()}
    save_checkpoint(tmp_path / "model", CHECKPOINT, saved)
    parameters = sum(parameter.numel() for parameter in model.parameters())
    assert read_config(tmp_path / "model").parameters == parameters < sum(a.size for a in saved.values())
    assert f"| Parameters | {parameters:,} |" in (tmp_path / "model" / "README.md").read_text("utf-8")


def test_a_run_is_no_model_and_its_best_model_is_named(tmp_path: Path) -> None:
    run = tmp_path / "mine"
    save_tiny(run / "best")
    (run / "state.pt").touch()
    assert f"{run} is a run, did you mean {run / 'best'}" in refused(run)


@pytest.mark.parametrize("name", ["tpu", "cuda:x", "", "cpu:0", "cuda:9999", "CUDA"])
def test_a_device_that_is_not_there_is_refused(name: str) -> None:
    with pytest.raises(RequestError, match="the device"):
        pick_device(name)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_cuda_asked_for_and_absent_is_refused() -> None:
    with pytest.raises(RequestError, match="the device cuda must be there, PyTorch finds 0 GPUs; use cpu"):
        pick_device("cuda")
    assert pick_device(None).type == "cpu"


def test_an_unknown_engine_is_refused(folder: Path) -> None:
    with pytest.raises(RequestError, match="the engine must be one of torch, onnx, given 'steam'"):
        load_engine([Member(folder, CHECKPOINT)], name="steam")


def test_without_pytorch_opening_a_model_says_what_to_install(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "copyfit.runtime.torch_model")
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(CheckpointError, match=r"needs torch: pip install 'copyfit\[train\]'"):
        load_engine([Member(folder, CHECKPOINT)])


def test_a_module_missing_for_another_reason_is_a_bug(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "copyfit.runtime.torch_model", None)
    with pytest.raises(ModuleNotFoundError, match="torch_model"):
        load_engine([Member(folder, CHECKPOINT)])
