# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whole models with random weights, by name: those of the `models` benchmark,
and small ones of the same make for tests.

    subject = build("GPT-2, decode")
    inputs = subject.inputs(batch=8)
    subject.reset()
    result = subject.module(*inputs)

Configurations are those of `transformers`; what it does not have is written
here. Nothing is downloaded.
"""
from __future__ import annotations

import copy
import itertools
from typing import Any, Callable

import torch
import torch.nn.functional as F
from torch import nn

SEQUENCE = 128


class Subject:
    """A module, a maker of its inputs and the length of its longest sum. One
    with a cache is a Decoder. `rnn` asks Dynamo for what it calls experimental:
    nn.LSTM in a graph. One that trains returns its loss; a call goes back from
    there, and leaves the gradients in its state."""

    def __init__(self, module: nn.Module, inputs: Callable[[int], tuple],
                 terms: int, rnn: bool = False, trains: bool = False) -> None:
        self.module = module.train(trains)
        self._inputs, self.terms, self.rnn = inputs, terms, rnn
        self.trains = trains
        self.cached = isinstance(module, Decoder)

    def inputs(self, batch: int) -> tuple:
        """Equal for equal batches; a cache is made for as many rows."""
        torch.manual_seed(23)
        if self.cached:
            self.module.fill(batch)
        return self._inputs(batch)

    def reset(self) -> None:
        """Before each call: where the cache is written next; no gradients."""
        if self.cached:
            self.module.rewind()
        if self.trains:
            self.module.zero_grad(set_to_none=True)

    def call(self, function: Callable, inputs: tuple) -> torch.Tensor:
        """A call of the module, or of what was compiled from it."""
        self.reset()
        with torch.set_grad_enabled(self.trains):
            result = function(*inputs)
        if self.trains:
            result.backward()
        return result.detach()

    def state(self) -> list[torch.Tensor]:
        """What a call writes to."""
        if self.trains:
            return [p.grad for p in self.module.parameters()
                    if p.grad is not None]
        return self.module.state() if self.cached else []

    def in_double(self) -> "Subject":
        """The same in f64."""
        return Subject(copy.deepcopy(self.module).double(), self._inputs,
                       self.terms, self.rnn, self.trains)


_MODELS: dict[str, Callable[[bool], Subject]] = {}


def _model(name: str) -> Callable:
    def add(make):
        _MODELS[name] = make
        return make
    return add


def names() -> list[str]:
    return list(_MODELS)


def build(name: str, small: bool = False, seed: int = 17) -> Subject:
    torch.manual_seed(seed)
    subject = _MODELS[name](small)
    _perturb(subject.module)
    return subject


def _perturb(module: nn.Module) -> None:
    """Zeros and ones of fresh models (biases, scales, statistics) would hide
    what is forgotten or mixed up."""
    with torch.no_grad():
        for parameter in module.parameters():
            if parameter.dim() == 1:
                parameter.add_(0.1 * torch.randn_like(parameter))
        for name, buffer in module.named_buffers():
            if name.endswith("running_mean"):
                buffer.add_(0.1 * torch.randn_like(buffer))
            elif name.endswith("running_var"):
                buffer.mul_(0.5 + torch.rand_like(buffer))


def _images(size: int, channels: int = 3) -> Callable[[int], tuple]:
    return lambda batch: (torch.randn(batch, channels, size, size),)


def _tokens(vocabulary: int, length: int) -> Callable[[int], tuple]:
    return lambda batch: (torch.randint(1, vocabulary, (batch, length)),)


class Part(nn.Module):
    """A model with only one of its results, or called by keywords."""

    def __init__(self, model: nn.Module, names: tuple[str, ...],
                 output: str, **always: Any) -> None:
        super().__init__()
        self.model, self.names, self.output = model, names, output
        self.always = always

    def forward(self, *values):
        given = dict(zip(self.names, values))
        return getattr(self.model(**given, **self.always), self.output)


# -- images --------------------------------------------------------------------


def _resnet(small: bool, depths: list[int], layer: str, sizes: list[int]):
    from transformers import ResNetConfig, ResNetForImageClassification

    if small:
        depths, sizes = [1, 2], sizes[:2]
    config = ResNetConfig(
        depths=depths, hidden_sizes=sizes, layer_type=layer, num_labels=1000,
        embedding_size=64)
    model = ResNetForImageClassification(config)
    module = Part(model, ("pixel_values",), "logits")
    return Subject(module, _images(64 if small else 224), 9 * 512)


@_model("ResNet-18")
def _resnet18(small):
    return _resnet(small, [2, 2, 2, 2], "basic", [64, 128, 256, 512])


class Trained(nn.Module):
    """The loss of a model that gives logits, against classes of its own."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, *inputs):
        *inputs, classes = inputs
        logits = self.model(*inputs)
        return F.cross_entropy(logits.flatten(0, -2), classes.flatten())


@_model("ResNet-18, training")
def _resnet18_training(small):
    plain = _resnet18(small)

    def inputs(batch):
        images, = plain.inputs(batch)
        return images, torch.randint(0, 1000, (batch,))
    return Subject(Trained(plain.module), inputs, plain.terms, trains=True)


@_model("ResNet-50")
def _resnet50(small):
    return _resnet(small, [3, 4, 6, 3], "bottleneck", [256, 512, 1024, 2048])


@_model("MobileNetV2")
def _mobilenet(small):
    from transformers import MobileNetV2Config, MobileNetV2ForImageClassification

    config = MobileNetV2Config(num_labels=1000)
    if small:
        config.depth_multiplier = 0.25
    module = Part(MobileNetV2ForImageClassification(config),
                  ("pixel_values",), "logits")
    return Subject(module, _images(32 if small else 224), 1280)


@_model("ConvNeXt-T")
def _convnext(small):
    from transformers import ConvNextConfig, ConvNextForImageClassification

    config = ConvNextConfig(num_labels=1000, layer_scale_init_value=0.5)
    if small:
        config = ConvNextConfig(depths=[1, 1], hidden_sizes=[16, 24],
                                num_stages=2, layer_scale_init_value=0.5)
    module = Part(ConvNextForImageClassification(config), ("pixel_values",),
                  "logits")
    return Subject(module, _images(32 if small else 224), 4 * 768)


@_model("ViT-S")
def _vit(small):
    from transformers import ViTConfig, ViTForImageClassification

    config = ViTConfig(hidden_size=384, num_attention_heads=6,
                       intermediate_size=1536, num_labels=1000)
    if small:
        config = ViTConfig(hidden_size=32, num_attention_heads=2,
                           intermediate_size=64, num_hidden_layers=2,
                           image_size=32)
    module = Part(ViTForImageClassification(config), ("pixel_values",),
                  "logits")
    return Subject(module, _images(config.image_size), 1536)


class _Residual(nn.Module):
    def __init__(self, before: int, after: int, time: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.GroupNorm(8, before), nn.GroupNorm(8, after)
        self.conv1 = nn.Conv2d(before, after, 3, padding=1)
        self.conv2 = nn.Conv2d(after, after, 3, padding=1)
        self.time = nn.Linear(time, after)
        self.skip = (nn.Identity() if before == after
                     else nn.Conv2d(before, after, 1))

    def forward(self, x, time):
        h = self.conv1(F.silu(self.norm1(x)))
        h = h + self.time(F.silu(time))[:, :, None, None]
        return self.skip(x) + self.conv2(F.silu(self.norm2(h)))


class _ImageAttention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm = nn.GroupNorm(8, width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        batch, width, height, length = x.shape
        h = self.norm(x).flatten(2).transpose(1, 2)
        q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2)
                   for t in self.qkv(h).chunk(3, -1))
        h = F.scaled_dot_product_attention(q, k, v)
        h = self.out(h.transpose(1, 2).flatten(2))
        return x + h.transpose(1, 2).unflatten(2, (height, length))


class UNet(nn.Module):
    """A denoiser of latents: residual blocks with an embedding of the time step,
    attention at the lower resolutions, skips joined by concatenation."""

    def __init__(self, widths: tuple[int, ...], channels: int = 4,
                 heads: int = 4) -> None:
        super().__init__()
        base = widths[0]
        time = 4 * base
        self.base = base
        self.embed = nn.Sequential(nn.Linear(base, time), nn.SiLU(),
                                   nn.Linear(time, time))
        self.enter = nn.Conv2d(channels, base, 3, padding=1)
        self.down, self.up = nn.ModuleList(), nn.ModuleList()
        for i, (before, after) in enumerate(
                itertools.pairwise((base, *widths))):
            self.down.append(nn.ModuleList([
                _Residual(before, after, time),
                _ImageAttention(after, heads) if i else nn.Identity(),
                nn.Conv2d(after, after, 3, stride=2, padding=1)]))
        last = widths[-1]
        self.middle = nn.ModuleList([
            _Residual(last, last, time), _ImageAttention(last, heads),
            _Residual(last, last, time)])
        for i, (before, after) in enumerate(
                itertools.pairwise((last, *reversed(widths)))):
            self.up.append(nn.ModuleList([
                nn.Conv2d(before, before, 3, padding=1),
                _Residual(before + after, after, time),
                _ImageAttention(after, heads) if i + 1 < len(widths)
                else nn.Identity()]))
        self.norm = nn.GroupNorm(8, base)
        self.leave = nn.Conv2d(base, channels, 3, padding=1)

    def forward(self, x, step):
        half = self.base // 2
        rates = torch.exp(torch.arange(half) * (-9.21 / half))
        angles = step[:, None].float() * rates
        time = self.embed(torch.cat([angles.sin(), angles.cos()], -1))
        x, skips = self.enter(x), []
        for block, attention, shrink in self.down:
            x = attention(block(x, time))
            skips.append(x)
            x = shrink(x)
        first, attention, second = self.middle
        x = second(attention(first(x, time)), time)
        for grow, block, attention in self.up:
            x = grow(F.interpolate(x, scale_factor=2.0, mode="nearest"))
            x = attention(block(torch.cat([x, skips.pop()], 1), time))
        return self.leave(F.silu(self.norm(x)))


@_model("U-Net with attention")
def _unet(small):
    model = UNet((16, 24) if small else (64, 128, 256))

    def inputs(batch):
        size = 16 if small else 64
        return (torch.randn(batch, 4, size, size),
                torch.randint(0, 1000, (batch,)))
    return Subject(model, inputs, 9 * 512)


# -- text ----------------------------------------------------------------------


def _bert_of(layers, small):
    from transformers import BertConfig, BertModel

    config = BertConfig(num_hidden_layers=layers)
    if small:
        config = BertConfig(hidden_size=32, num_hidden_layers=layers,
                            num_attention_heads=2, intermediate_size=64,
                            vocab_size=100)
    module = Part(BertModel(config), ("input_ids",), "last_hidden_state")
    return Subject(module, _tokens(config.vocab_size, SEQUENCE),
                   config.intermediate_size)


@_model("BERT-base")
def _bert(small):
    return _bert_of(2 if small else 12, small)


def _gpt2_config(small):
    from transformers import GPT2Config

    if small:
        return GPT2Config(n_embd=32, n_layer=2, n_head=2, vocab_size=100)
    return GPT2Config()


def _llama_config(small):
    from transformers import LlamaConfig

    if small:
        return LlamaConfig(hidden_size=32, num_hidden_layers=2,
                           num_attention_heads=4, num_key_value_heads=2,
                           intermediate_size=48, vocab_size=100)
    return LlamaConfig(hidden_size=512, num_hidden_layers=8,
                       num_attention_heads=8, num_key_value_heads=4,
                       intermediate_size=1536, vocab_size=32000)


class Decoder(nn.Module):
    """One step of a language model: a token for each row, keys and values of
    those before in a cache of fixed size, which the step writes to."""

    def __init__(self, model: nn.Module, before: int, room: int) -> None:
        super().__init__()
        self.model, self.before, self.room = model, before, room
        self.cache: Any = None

    def fill(self, batch: int) -> None:
        from transformers import StaticCache

        config = self.model.config
        self.cache = StaticCache(config=config, max_cache_len=self.room)
        tokens = torch.randint(1, config.vocab_size, (batch, self.before))
        with torch.no_grad():
            self.model(tokens, past_key_values=self.cache, use_cache=True)

    def rewind(self) -> None:
        for layer in self.cache.layers:
            layer.cumulative_length.fill_(self.before)

    def state(self) -> list[torch.Tensor]:
        return [t for layer in self.cache.layers
                for t in (layer.keys, layer.values)]

    def forward(self, token):
        return self.model(token, past_key_values=self.cache,
                          use_cache=True).logits


def _decoder(model, config, small):
    before = 16 if small else SEQUENCE
    module = Decoder(model, before, 2 * before)
    return Subject(module, _tokens(config.vocab_size, 1), 2048)


@_model("GPT-2")
def _gpt2(small):
    from transformers import GPT2LMHeadModel

    config = _gpt2_config(small)
    module = Part(GPT2LMHeadModel(config), ("input_ids",), "logits",
                  use_cache=False)
    return Subject(module, _tokens(config.vocab_size, SEQUENCE), 3072)


@_model("GPT-2 of 4 layers, training")
def _gpt2_training(small):
    from transformers import GPT2Config, GPT2LMHeadModel

    config = _gpt2_config(small) if small else GPT2Config(n_layer=4)
    # What drops out is drawn from random numbers, which differ.
    config.attn_pdrop = config.embd_pdrop = config.resid_pdrop = 0.0
    model = Part(GPT2LMHeadModel(config), ("input_ids",), "logits",
                 use_cache=False)
    make = _tokens(config.vocab_size, SEQUENCE)

    def inputs(batch):
        # The batch of inference is 1 or 8; this model trains on half of 8.
        return *make(max(batch // 2, 1)), *make(max(batch // 2, 1))
    return Subject(Trained(model), inputs, config.vocab_size, trains=True)


@_model("GPT-2, decode")
def _gpt2_decode(small):
    from transformers import GPT2LMHeadModel

    config = _gpt2_config(small)
    return _decoder(GPT2LMHeadModel(config), config, small)


@_model("Llama, 8 layers")
def _llama(small):
    from transformers import LlamaForCausalLM

    config = _llama_config(small)
    module = Part(LlamaForCausalLM(config), ("input_ids",), "logits",
                  use_cache=False)
    return Subject(module, _tokens(config.vocab_size, SEQUENCE), 1536)


@_model("Llama, 8 layers, decode")
def _llama_decode(small):
    from transformers import LlamaForCausalLM

    config = _llama_config(small)
    return _decoder(LlamaForCausalLM(config), config, small)


@_model("T5 encoder")
def _t5(small):
    from transformers import T5Config, T5EncoderModel

    config = T5Config(d_model=512, d_ff=2048, num_layers=6, num_heads=8)
    if small:
        config = T5Config(d_model=32, d_kv=16, d_ff=64, num_layers=2,
                          num_heads=2, vocab_size=100)
    module = Part(T5EncoderModel(config), ("input_ids",), "last_hidden_state")
    return Subject(module, _tokens(config.vocab_size, SEQUENCE), config.d_ff)


@_model("CLIP-B/32, text")
def _clip_text(small):
    from transformers import CLIPTextConfig, CLIPTextModel

    config = CLIPTextConfig()
    if small:
        config = CLIPTextConfig(hidden_size=32, intermediate_size=64,
                                num_hidden_layers=2, num_attention_heads=2,
                                vocab_size=100, eos_token_id=99)
    module = Part(CLIPTextModel(config), ("input_ids",), "pooler_output")
    return Subject(module, _tokens(config.vocab_size, 77), 2048)


@_model("CLIP-B/32, images")
def _clip_vision(small):
    from transformers import CLIPVisionConfig, CLIPVisionModel

    config = CLIPVisionConfig()
    if small:
        config = CLIPVisionConfig(hidden_size=32, intermediate_size=64,
                                  num_hidden_layers=2, num_attention_heads=2,
                                  image_size=64)
    module = Part(CLIPVisionModel(config), ("pixel_values",), "pooler_output")
    return Subject(module, _images(config.image_size), 3072)


# -- sound, tables, graphs, sequences --------------------------------------------


@_model("Whisper-tiny encoder")
def _whisper(small):
    from transformers import WhisperConfig
    from transformers.models.whisper.modeling_whisper import WhisperEncoder

    config = WhisperConfig()  # tiny is the default
    if small:
        config = WhisperConfig(d_model=32, encoder_layers=2,
                               encoder_attention_heads=2, encoder_ffn_dim=64,
                               max_source_positions=50)
    length = 2 * config.max_source_positions
    module = Part(WhisperEncoder(config), ("input_features",),
                  "last_hidden_state")
    return Subject(
        module, lambda batch: (torch.randn(batch, 80, length),), 1536)


class Dlrm(nn.Module):
    """Clicks from dense and sparse features: bags of embeddings, products of all
    pairs, two multilayer perceptrons."""

    def __init__(self, tables: int, rows: int, width: int) -> None:
        super().__init__()
        self.bags = nn.ModuleList(
            nn.EmbeddingBag(rows, width, mode="sum") for _ in range(tables))
        self.bottom = nn.Sequential(
            nn.Linear(13, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(),
            nn.Linear(256, width), nn.ReLU())
        pairs = torch.tril_indices(tables + 1, tables + 1, -1)
        self.register_buffer("pairs", pairs)
        self.top = nn.Sequential(
            nn.Linear(width + pairs.shape[1], 512), nn.ReLU(),
            nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 1), nn.Sigmoid())

    def forward(self, dense, sparse):
        dense = self.bottom(dense)
        features = torch.stack(
            [dense, *(bag(sparse[:, i]) for i, bag in enumerate(self.bags))], 1)
        products = features @ features.transpose(1, 2)
        chosen = products[:, self.pairs[0], self.pairs[1]]
        return self.top(torch.cat([dense, chosen], 1))


@_model("DLRM")
def _dlrm(small):
    tables, rows, width = (3, 50, 16) if small else (26, 10000, 64)

    def inputs(batch):
        # A call serves many users at once.
        users = batch * (4 if small else 64)
        return (torch.randn(users, 13),
                torch.randint(rows, (users, tables, 4)))
    return Subject(Dlrm(tables, rows, width), inputs, 512)


class Lstm(nn.Module):
    """A language model of two layers, the last state read out."""

    def __init__(self, words: int, width: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.lstm = nn.LSTM(width, width, num_layers=2, batch_first=True)
        self.out = nn.Linear(width, words)

    def forward(self, tokens):
        return self.out(self.lstm(self.embed(tokens))[0][:, -1])


@_model("LSTM")
def _lstm(small):
    words, width, length = (50, 16, 6) if small else (10000, 256, 32)
    return Subject(Lstm(words, width), _tokens(words, length), 256, rnn=True)


class Gnn(nn.Module):
    """Three rounds of messages along the edges of a graph, their mean taken by
    scatter-add, as libraries of graphs do."""

    def __init__(self, width: int, classes: int) -> None:
        super().__init__()
        self.own = nn.ModuleList(nn.Linear(width, width) for _ in range(3))
        self.near = nn.ModuleList(
            nn.Linear(width, width, bias=False) for _ in range(3))
        self.out = nn.Linear(width, classes)

    def forward(self, x, edges):
        source, target = edges[0], edges[1]
        ones = torch.ones(edges.shape[1])
        degree = torch.zeros(x.shape[0]).scatter_add(0, target, ones)
        scale = 1.0 / degree.clamp(min=1.0)
        for own, near in zip(self.own, self.near):
            summed = torch.zeros_like(x).index_add(0, target, x[source])
            x = torch.relu(own(x) + near(summed * scale[:, None]))
        return self.out(x)


@_model("GNN by scatter")
def _gnn(small):
    nodes, edges, width = (40, 90, 16) if small else (2000, 10000, 64)

    def inputs(batch):
        count = batch * nodes
        return (torch.randn(count, width),
                torch.randint(count, (2, batch * edges)))
    return Subject(Gnn(width, 16), inputs, 64)


@_model("Mamba")
def _mamba(small):
    from transformers import MambaConfig, MambaModel

    config = MambaConfig(hidden_size=256, num_hidden_layers=4,
                         vocab_size=10000, use_cache=False)
    length = 64
    if small:
        config = MambaConfig(hidden_size=16, num_hidden_layers=2, state_size=4,
                             vocab_size=50, use_cache=False)
        length = 6
    module = Part(MambaModel(config), ("input_ids",), "last_hidden_state")
    return Subject(module, _tokens(config.vocab_size, length), 512)


# -- parts that models are made of ------------------------------------------------


class Mlp(nn.Module):
    def __init__(self, width: int, inner: int) -> None:
        super().__init__()
        self.into, self.out = nn.Linear(width, inner), nn.Linear(inner, width)

    def forward(self, x):
        return self.out(F.gelu(self.into(x)))


@_model("MLP")
def _mlp(small):
    width, length = (32, 8) if small else (768, SEQUENCE)
    return Subject(Mlp(width, 4 * width),
                   lambda batch: (torch.randn(batch, length, width),),
                   4 * width)


class TransformerBlock(nn.Module):
    """Norms in front, as GPT-2 has them; every row sees every other."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = Mlp(width, 4 * width)

    def forward(self, x):
        q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2)
                   for t in self.qkv(self.norm1(x)).chunk(3, -1))
        h = F.scaled_dot_product_attention(q, k, v)
        x = x + self.out(h.transpose(1, 2).flatten(2))
        return x + self.mlp(self.norm2(x))


@_model("Transformer block")
def _transformer_block(small):
    width, heads, length = (32, 2, 8) if small else (768, 12, SEQUENCE)
    return Subject(TransformerBlock(width, heads),
                   lambda batch: (torch.randn(batch, length, width),),
                   4 * width)


class ImageBlock(nn.Module):
    """1x1, 3x3 and 1x1, each with batch norm, around them the input itself."""

    def __init__(self, width: int, inner: int, groups: int,
                 activation: Callable, ends_so: bool) -> None:
        super().__init__()
        self.convolutions = nn.ModuleList([
            nn.Conv2d(width, inner, 1, bias=False),
            nn.Conv2d(inner, inner, 3, padding=1, groups=groups, bias=False),
            nn.Conv2d(inner, width, 1, bias=False)])
        self.norms = nn.ModuleList(
            nn.BatchNorm2d(n) for n in (inner, inner, width))
        self.activation, self.ends_so = activation, ends_so

    def forward(self, x):
        h = x
        for i, (conv, norm) in enumerate(zip(self.convolutions, self.norms)):
            h = norm(conv(h))
            h = self.activation(h) if i < 2 else h + x
        return self.activation(h) if self.ends_so else h


@_model("ResNet bottleneck")
def _bottleneck(small):
    inner, size = (8, 9) if small else (64, 56)
    return Subject(ImageBlock(4 * inner, inner, 1, F.relu, True),
                   _images(size, 4 * inner), 9 * inner)


@_model("Inverted residual")
def _inverted_residual(small):
    width, size = (8, 9) if small else (24, 56)
    return Subject(ImageBlock(width, 6 * width, 6 * width, F.relu6, False),
                   _images(size, width), 6 * width)


@_model("BERT of 4 layers")
def _bert_short(small):
    return _bert_of(1 if small else 4, small)
