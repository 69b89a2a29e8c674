"""The paper's model as Hugging Face transformers runs it: Pegasus has the same layers."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PegasusConfig, PegasusForConditionalGeneration

from benchmarks.peers.positions import PLACES, source_positions, target_positions
from copyfit.models.transformer import Transformer
from copyfit.text.automaton import END, PADDING, START

_ATTENTION = ("q_proj", "k_proj", "v_proj")


def convert(model: Transformer, *, length: int) -> Any:
    """Return a pre-norm Transformer as a Pegasus whose positions are baked for one length."""
    shape = model.section
    config = PegasusConfig(
        vocab_size=model.target_table.num_embeddings,
        d_model=shape.width,
        encoder_layers=shape.encoder_layers,
        decoder_layers=shape.decoder_layers,
        encoder_attention_heads=shape.heads,
        decoder_attention_heads=shape.heads,
        encoder_ffn_dim=shape.inner,
        decoder_ffn_dim=shape.inner,
        max_position_embeddings=PLACES,
        activation_function="relu",
        scale_embedding=True,
        tie_word_embeddings=False,
        pad_token_id=PADDING,
        eos_token_id=END,
        decoder_start_token_id=START,
    )
    peer = PegasusForConditionalGeneration(config).eval()
    peer.model.encoder.embed_tokens = nn.Embedding(model.source_table.num_embeddings, shape.width)
    with torch.no_grad():
        _fill(peer, model, length=length)
    return peer


def write(peer: Any, sources: Tensor, *, length: int, num_beams: int) -> Tensor:
    """Write a headline of `length` characters for every source of one batch."""
    with torch.inference_mode():
        written: Tensor = peer.generate(
            input_ids=sources,
            attention_mask=torch.ones_like(sources),
            num_beams=num_beams,
            min_new_tokens=length + 1,
            max_new_tokens=length + 1,
            do_sample=False,
        )
    return written


def logits(peer: Any, source: Sequence[int], fed: Sequence[int]) -> Tensor:
    """Return the logits behind every token that the decoder is fed."""
    with torch.inference_mode():
        answer: Tensor = peer(input_ids=torch.tensor([source]), decoder_input_ids=torch.tensor([fed])).logits[
            0
        ]
    return answer


def _fill(peer: Any, model: Transformer, *, length: int) -> None:
    encoder, decoder = peer.model.encoder, peer.model.decoder
    encoder.embed_tokens.weight.copy_(model.source_table.weight)
    encoder.embed_positions.weight.copy_(source_positions(model))
    decoder.embed_tokens.weight.copy_(model.target_table.weight)
    decoder.embed_positions.weight.copy_(target_positions(model, length))
    encoder.layer_norm.load_state_dict(model.encoder_norm.state_dict())
    decoder.layer_norm.load_state_dict(model.decoder_norm.state_dict())
    peer.lm_head.weight.copy_(model.output.weight)
    for layer, ours in _pairs(encoder.layers, model.encoder):
        _self_attention(layer, ours)
        _feed_forward(layer, ours, ours.residuals[1].norm)
    width = model.section.width
    weights = model.source_keys.weight.view(-1, 2, width, width)
    biases = model.source_keys.bias.view(-1, 2, width)
    for number, (layer, ours) in enumerate(_pairs(decoder.layers, model.decoder)):
        _self_attention(layer, ours)
        layer.encoder_attn_layer_norm.load_state_dict(ours.residuals[1].norm.state_dict())
        layer.encoder_attn.q_proj.load_state_dict(ours.source_attention.inputs.state_dict())
        layer.encoder_attn.out_proj.load_state_dict(ours.source_attention.outputs.state_dict())
        for part, name in enumerate(_ATTENTION[1:]):
            getattr(layer.encoder_attn, name).weight.copy_(weights[number, part])
            getattr(layer.encoder_attn, name).bias.copy_(biases[number, part])
        _feed_forward(layer, ours, ours.residuals[2].norm)


def _self_attention(layer: Any, ours: Any) -> None:
    layer.self_attn_layer_norm.load_state_dict(ours.residuals[0].norm.state_dict())
    layer.self_attn.out_proj.load_state_dict(ours.attention.outputs.state_dict())
    joined = ours.attention.inputs
    for name, weight, bias in zip(_ATTENTION, joined.weight.chunk(3), joined.bias.chunk(3), strict=True):
        getattr(layer.self_attn, name).weight.copy_(weight)
        getattr(layer.self_attn, name).bias.copy_(bias)


def _feed_forward(layer: Any, ours: Any, norm: nn.Module) -> None:
    layer.final_layer_norm.load_state_dict(norm.state_dict())
    layer.fc1.load_state_dict(ours.feed_forward.inner.state_dict())
    layer.fc2.load_state_dict(ours.feed_forward.outer.state_dict())


def _pairs(layers: Any, ours: Any) -> Any:
    return zip(layers, ours, strict=True)
