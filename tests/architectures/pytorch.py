"""What PyTorch makes of the examples in eight steps, in double, from the parameters of the README: writes pytorch.txt.

Written with torch 2.15.0 by `python pytorch.py > pytorch.txt`.
"""

import math

import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)


def sines(shape, seed, pace, amplitude=1.0, mean=0.0):
    i = torch.arange(math.prod(shape), dtype=torch.float64)
    return (mean + amplitude * torch.sin(seed + pace * i)).reshape(shape)


def floats(*shape):
    return sines(shape, 0.3, 2.3)


BITS = (1 << 64) - 1


class Draws:
    """The random numbers of the language (ir/graph/ops/random_stream.h): Philox 4x32-10, of seed 1 and this step."""

    step = 1

    @staticmethod
    def mixed(value):
        value = (value + 0x9E3779B97F4A7C15) & BITS
        value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & BITS
        value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & BITS
        return value ^ (value >> 31)

    @classmethod
    def words(cls, name, count):
        text = 0xCBF29CE484222325
        for letter in name.encode():
            text = ((text ^ letter) * 0x100000001B3) & BITS
        key = cls.mixed(cls.mixed(1) ^ text)
        for block in range((count + 3) // 4):
            a, b, c, d = block & 0xFFFFFFFF, block >> 32, cls.step, 0
            low, high = key & 0xFFFFFFFF, key >> 32
            for _ in range(10):
                first, second = 0xD2511F53 * a, 0xCD9E8D57 * c
                a, b, c, d = (second >> 32) ^ b ^ low, second & 0xFFFFFFFF, (first >> 32) ^ d ^ high, first & 0xFFFFFFFF
                low, high = (low + 0x9E3779B9) & 0xFFFFFFFF, (high + 0xBB67AE85) & 0xFFFFFFFF
            yield from (a, b, c, d)

    @classmethod
    def uniform(cls, name, *shape):
        count = math.prod(shape)
        return torch.tensor([(word >> 8) * 2.0**-24 for word in cls.words(name, count)][:count]).reshape(shape)

    @classmethod
    def normal(cls, name, *shape):
        count = math.prod(shape)
        words = [(word + 1) * 2.0**-32 for word in cls.words(name, count)]
        numbers = []
        for i in range(0, len(words), 2):
            radius, angle = math.sqrt(-2 * math.log(words[i])), 2 * math.pi * words[i + 1]
            numbers += [radius * math.cos(angle), radius * math.sin(angle)]
        return torch.tensor(numbers[:count]).reshape(shape)


def whole(shape, limit):
    i = torch.arange(math.prod(shape))
    return ((7 * i * i + i) % limit).reshape(shape)


class Parameters(dict):
    """Parameters by their names in the model, made when they are first asked for."""

    def __call__(self, name, *shape):
        if name not in self:
            seed = float(sum(name.encode()))
            if len(shape) > 1:
                self[name] = sines(shape, seed, 1.7, 0.3).requires_grad_()
            else:
                self[name] = sines(shape, seed, 1.7, 0.1, 1.0 if name.endswith("weight") else 0.0).requires_grad_()
        return self[name]


def dense(p, name, x, units, bias=True):
    y = x @ p(name + ".weight", units, x.shape[-1]).T
    return y + p(name + ".bias", units) if bias else y


def conv2d(p, name, x, channels, kernel, stride=1, padding=0, bias=True):
    y = F.conv2d(x, p(name + ".weight", channels, x.shape[1], kernel, kernel), stride=stride, padding=padding)
    return y + p(name + ".bias", channels)[:, None, None] if bias else y


def conv_norm(p, name, x, channels, kernel=3, stride=1):
    y = conv2d(p, name + ".conv", x, channels, kernel, stride, (kernel - 1) // 2, bias=False)
    return F.batch_norm(y, None, None, p(name + ".norm.weight", channels), p(name + ".norm.bias", channels), training=True)


def layer_norm(p, name, x):
    k = x.shape[-1]
    return F.layer_norm(x, (k,), p(name + ".weight", k), p(name + ".bias", k))


def rms_norm(p, name, x, eps=1e-5):
    return F.rms_norm(x, (x.shape[-1],), p(name + ".weight", x.shape[-1]), eps=eps)


def residual(p, name, x, channels, stride):
    first = conv_norm(p, name + ".first", x, channels, stride=stride)
    second = conv_norm(p, name + ".second", F.relu(first), channels)
    if stride == 1 and x.shape[1] == channels:
        return F.relu(second + x)
    return F.relu(second + conv_norm(p, name + ".shortcut", x, channels, kernel=1, stride=stride))


def digits(batch):
    return floats(batch, 1, 28, 28), whole((batch,), 10)


def mnist_mlp(p, batch):
    image, label = digits(batch)
    h2 = F.relu(dense(p, "h2", F.relu(dense(p, "h1", image.flatten(1), 512)), 512))
    return F.cross_entropy(dense(p, "logits", h2, 10), label)


def manual_mlp(p, batch):
    image, label = digits(batch)
    return F.cross_entropy(dense(p, "logits", F.relu(dense(p, "h", image.flatten(1), 512)), 10), label)


def custom_op(p, batch):
    image, label = digits(batch)
    logits = dense(p, "logits", F.relu(dense(p, "h", image.flatten(1), 128)), 10)
    return F.cross_entropy(20 * torch.tanh(logits / 20), label)


def sapp_mlp(p, batch):
    h1 = floats(batch, 784) @ p("w1", 512, 784).T
    h2 = F.relu(h1) @ p("w2", 512, 512).T
    return F.l1_loss(F.relu(h2) @ p("w3", 1, 512).T, floats(batch, 1))


def vmap(p, batch, experts, width):
    image, label = digits(batch)
    x = image.flatten(1)
    gate = torch.softmax(dense(p, "gate", x, experts), 1)
    h = F.relu(torch.einsum("bk,ewk->ebw", x, p("up", experts, width, 784)))
    answers = torch.einsum("ebw,ecw->ebc", h, p("down", experts, 10, width))
    return F.cross_entropy(torch.einsum("be,ebc->bc", gate, answers), label)


def regions(p, batch, width, hidden):
    image, label = digits(batch)
    features = F.relu(dense(p, "features", F.relu(dense(p, "features.first", image.flatten(1), hidden)), width))
    up = F.gelu(dense(p, "mixed.up", features, hidden), approximate="tanh")
    return F.cross_entropy(dense(p, "logits", features + dense(p, "mixed", up, width), 10), label)


def region_function(p, batch, features):
    y = F.relu(floats(batch, features) @ p("w", features, 10) + p("b", 10))
    return F.cross_entropy(y, whole((batch,), 10))


def global_view(p, batch):
    return F.mse_loss(floats(batch, 4) @ p("w0", 4, 6) @ p("w1", 6, 3), floats(batch, 3))


def mnist_cnn(p, batch):
    image, label = digits(batch)
    conv1 = F.max_pool2d(F.relu(conv2d(p, "conv1", image, 32, 3, padding=1)), 2)
    conv2 = F.max_pool2d(F.relu(conv2d(p, "conv2", conv1, 64, 3, padding=1)), 2)
    hidden = F.relu(dense(p, "hidden", conv2.flatten(1), 128))
    return F.cross_entropy(dense(p, "logits", hidden, 10), label)


def manual_halo(p, batch, channels):
    image, label = digits(batch)
    h1 = F.relu(conv2d(p, "h1", image, channels, 3, padding=1))
    h2 = F.relu(conv2d(p, "h2", h1, 2 * channels, 3, padding=1))
    return F.cross_entropy(dense(p, "logits", h2.mean((2, 3)), 10), label)


def manual_transpose(p, batch, strips, width):
    image, label = digits(batch)
    a = F.relu(dense(p, "a", image.reshape(batch, strips, 784 // strips), width))
    b = F.relu(dense(p, "b", a.transpose(1, 2), strips))
    return F.cross_entropy(dense(p, "logits", b.mean(2), 10), label)


def resnet(p, batch, width, stages, blocks):
    image, label = digits(batch)
    x = F.relu(conv_norm(p, "stem", image, width))
    for stage in range(stages):
        for i in range(blocks):
            x = residual(p, f"x.{stage}.{i}", x, width * 2**stage, 2 if stage > 0 and i == 0 else 1)
    return F.cross_entropy(dense(p, "logits", x.mean((2, 3)), 10), label)


def two_convolutions(p, name, x, channels):
    first = conv_norm(p, name + ".first", x, channels)
    return F.relu(conv_norm(p, name + ".second", F.relu(first), channels))


def expanded(p, name, x, skipped):
    up = F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)
    return two_convolutions(p, name + ".merged", torch.cat((skipped, up), 1), skipped.shape[1])


def unet(p, batch, width):
    image = floats(batch, 1, 28, 28)
    full = two_convolutions(p, "full", image, width)
    half = two_convolutions(p, "half", F.max_pool2d(full, 2), 2 * width)
    quarter = two_convolutions(p, "quarter", F.max_pool2d(half, 2), 4 * width)
    top = expanded(p, "top", expanded(p, "up", quarter, half), full)
    ink = conv2d(p, "ink", top, 1, 1)
    return F.binary_cross_entropy_with_logits(ink, (image > 0).double())


def vae(p, batch, hidden, latent):
    pixels = floats(batch, 784) * 0.3081 + 0.1307
    h = F.relu(dense(p, "mean_log_variance.h", pixels, hidden))
    mean, log_variance = (dense(p, "mean_log_variance." + name, h, latent) for name in ("mean", "log_variance"))
    z = mean + torch.exp(0.5 * log_variance) * Draws.normal("z.normal", batch, latent)
    logits = dense(p, "logits.out", F.relu(dense(p, "logits.h", z, hidden)), 784)
    code = 0.5 * (log_variance.exp() + mean**2 - 1 - log_variance)
    return 784 * F.binary_cross_entropy_with_logits(logits, pixels) + code.sum(1).mean()


def group_norm(p, name, x, groups):
    return F.group_norm(x, groups, p(name + ".weight", x.shape[1]), p(name + ".bias", x.shape[1]))


def shifted_residual(p, name, x, about, channels, groups):
    first = conv2d(p, name + ".first.conv2d_0", F.silu(group_norm(p, name + ".first.group_norm_0", x, groups)), channels, 3, 1, 1)
    middle = first + dense(p, name + ".shift", about, channels)[:, :, None, None]
    second = conv2d(p, name + ".second.conv2d_0", F.silu(group_norm(p, name + ".second.group_norm_0", middle, groups)), channels, 3, 1, 1)
    return (x if x.shape[1] == channels else conv2d(p, name + ".bridge", x, channels, 1)) + second


def diffusion(p, batch, times, width, groups):
    image, label = digits(batch)
    pixels = (image * 0.3081 + 0.1307) * 2 - 1
    time = (Draws.uniform("time.uniform", batch).float() * times).long()
    noise = Draws.normal("noise.normal", *pixels.shape)
    added = 0.02 / times + (4 - 0.02) / times * torch.arange(times) / (times - 1)
    kept = torch.cumprod(1 - added, 0)[time][:, None, None, None]
    noisy = pixels * kept.sqrt() + noise * (1 - kept).sqrt()
    label = torch.where(Draws.uniform("is_told.uniform", batch) < 0.9, label, 10)
    embedded = p("about.embedding_0.weight", times, 4 * width)[time] + p("about.embedding_1.weight", 11, 4 * width)[label]
    about = F.silu(embedded)

    def down(name, x, channels, stride):
        x = conv2d(p, f"guess.{name}.conv2d_0", x, channels, 3, stride, 1)
        return shifted_residual(p, f"guess.{name}.residual_0", x, about, channels, groups)

    def up(name, x, bridge, channels):
        x = torch.cat((F.interpolate(x, scale_factor=2), bridge), 1)
        return shifted_residual(p, f"guess.{name}", x, about, channels, groups)

    fine = down("fine", noisy, width, 1)
    half = down("half", fine, 2 * width, 2)
    small = down("small", half, 2 * width, 2)
    fine_up = up("fine_up", up("half_up", small, half, 2 * width), fine, width)
    guess = conv2d(p, "guess.out.conv2d_0", F.silu(group_norm(p, "guess.out.group_norm_0", fine_up, groups)), 1, 3, 1, 1)
    return F.mse_loss(guess, noise)


def attention(p, name, x, heads, causal, project):
    batch, seq, width = x.shape
    parts = project(p, name + ".qkv", x, 3 * width).reshape(batch, seq, heads, 3, width // heads)
    q, k, v = (parts[:, :, :, i].transpose(1, 2) for i in range(3))
    mixed = F.scaled_dot_product_attention(q, k, v, is_causal=causal).transpose(1, 2).reshape(x.shape)
    return project(p, name + ".out", mixed, width)


def mlp(p, name, x, hidden):
    return dense(p, name + ".down", F.gelu(dense(p, name + ".up", x, hidden), approximate="tanh"), x.shape[-1])


def vit(p, batch, size, patch, width, heads, depth):
    image = floats(batch, 1, size, size)
    tokens = conv2d(p, "patches", image, width, patch, stride=patch).flatten(2).transpose(1, 2)
    x = tower(p, "x", tokens + p("x.weight", tokens.shape[1], width), heads, depth)
    logits = dense(p, "logits", layer_norm(p, "norm", x).mean(1), 10)
    return F.cross_entropy(logits, whole((batch,), 10), label_smoothing=0.1)


def summary(p, name, x, units):
    y = dense(p, name, layer_norm(p, name + ".norm", x).mean(1), units, bias=False)
    return y * torch.rsqrt((y * y).sum(1, keepdim=True) + 1e-12)


def tower(p, name, x, heads, depth, causal=False):
    for i in range(depth):
        own = f"{name}.{i}"
        middle = x + attention(p, own + ".attn", layer_norm(p, own + ".norm1", x), heads, causal, dense)
        x = middle + mlp(p, own + ".ffn", layer_norm(p, own + ".norm2", middle), 4 * x.shape[-1])
    return x


def clip(p, batch, size, patch, words, vocab, width, heads, depth, shared):
    image, tokens = floats(batch, 3, size, size), whole((batch, words), vocab)
    patches = conv2d(p, "patches", image, width, patch, stride=patch).flatten(2).transpose(1, 2)
    seen = tower(p, "seen", patches + p("seen.weight", patches.shape[1], width), heads, depth)
    picture = summary(p, "picture", seen, shared)
    read = tower(p, "read", p("meaning.weight", vocab, width)[tokens] + p("read.weight", words, width), heads, depth)
    logits = torch.exp(p("scale", 1)) * (picture @ summary(p, "caption", read, shared).T)
    own = torch.arange(batch)
    return 0.5 * (F.cross_entropy(logits, own) + F.cross_entropy(logits.T, own))


def tiny_gpt(p, batch, seq, vocab, width, heads, depth):
    tokens, following = text(batch, seq, vocab)
    x = p("x.embedding_0.weight", vocab, width)[tokens] + p("x.position_0.weight", seq, width)
    normal = layer_norm(p, "normal", tower(p, "x", x, heads, depth, causal=True))
    return F.cross_entropy(dense(p, "logits", normal, vocab).flatten(0, 1), following.flatten())


def linear(p, name, x, units):
    return dense(p, name + ".out", x, units, bias=False)


def rope(x, theta=10000.0):
    half = x.shape[-1] // 2
    angle = torch.arange(x.shape[-2])[:, None] * theta ** (-torch.arange(half) / half)
    a, b = x[..., :half], x[..., half:]
    return torch.cat((a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()), -1)


def grouped_attention(p, name, x, heads, groups):
    batch, seq, width = x.shape
    head = width // heads

    def of(part, count):
        return linear(p, name + part, x, count * head).reshape(batch, seq, count, head).transpose(1, 2)

    q, k, v = rope(of(".q", heads)), rope(of(".k", groups)), of(".v", groups)
    k, v = (t.repeat_interleave(heads // groups, 1) for t in (k, v))
    mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(x.shape)
    return linear(p, name + ".out", mixed, width)


def swiglu(p, name, x, hidden):
    gate, up = linear(p, name + ".gate", x, hidden), linear(p, name + ".up", x, hidden)
    return linear(p, name + ".down", F.silu(gate) * up, x.shape[-1])


def text(batch, seq, vocab):
    return whole((batch, seq), vocab), whole((batch, seq), vocab)


def llama(p, batch, seq, vocab, width, heads, groups, hidden, depth):
    tokens, following = text(batch, seq, vocab)
    x = p("x.weight", vocab, width)[tokens]
    for i in range(depth):
        name = f"x.{i}"
        middle = x + grouped_attention(p, name + ".attn", rms_norm(p, name + ".norm1", x), heads, groups)
        x = middle + swiglu(p, name + ".ffn", rms_norm(p, name + ".norm2", middle), hidden)
    logits = linear(p, "logits", rms_norm(p, "norm", x), vocab)
    return F.cross_entropy(logits.flatten(0, 1), following.flatten())


def mixture(p, name, x, experts, chosen, hidden, room):
    """The sequences of a batch one after another, and in each one token after another: first all first choices. Without `room`, all tokens
    are taken."""
    tokens, width = x.shape[1:]
    router = p(name + ".router.weight", experts, width)
    gate, up = p(name + ".ffn.gate", experts, hidden, width), p(name + ".ffn.up", experts, hidden, width)
    down = p(name + ".ffn.down", experts, width, hidden)
    capacity = (tokens * chosen * room // 100 + experts - 1) // experts if room > 0 else tokens
    logits = x @ router.T
    probability = torch.softmax(logits, 2)
    weight, expert = probability.topk(chosen, dim=2)
    if chosen > 1:
        weight = weight / weight.sum(2, keepdim=True)
    out = []
    for sequence in range(len(x)):
        taken, rows = [0] * experts, [0 * token for token in x[sequence]]
        for choice in range(chosen):
            for t, e in enumerate(expert[sequence, :, choice].tolist()):
                taken[e] += 1
                if taken[e] <= capacity:
                    token = x[sequence, t]
                    made = down[e] @ (F.silu(gate[e] @ token) * (up[e] @ token))
                    rows[t] = rows[t] + weight[sequence, t, choice] * made
        out.append(torch.stack(rows))
    share = F.one_hot(expert, experts).double().mean((0, 1, 2))
    balance = experts * (share * probability.mean((0, 1))).sum()
    return torch.stack(out), balance, torch.logsumexp(logits, 2).square().mean()


def moe(p, batch, seq, vocab, width, heads, experts, chosen, hidden, depth, room):
    tokens, following = text(batch, seq, vocab)
    x, uneven, large = p("x.weight", vocab, width)[tokens], 0.0, 0.0
    for i in range(depth):
        middle = x + grouped_attention(p, f"attn.{i}", rms_norm(p, f"norm1.{i}", x), heads, heads)
        norm2 = rms_norm(p, f"norm2.{i}", middle)
        ffn, balance, z = mixture(p, f"ffn_balance_z.{i}", norm2, experts, chosen, hidden, room)
        x, uneven, large = middle + ffn, uneven + balance, large + z
    logits = linear(p, "logits", rms_norm(p, "norm", x), vocab)
    return F.cross_entropy(logits.flatten(0, 1), following.flatten()) + 0.01 * uneven + 0.001 * large


def perceptron(p, name, x, hidden, units):
    return F.relu(dense(p, name + ".outer", F.relu(dense(p, name + ".inner", x, hidden)), units))


def dlrm(p, batch, numbers, categories, rows, width, hidden):
    bottom = perceptron(p, "bottom", floats(batch, numbers), hidden, width)
    ids = whole((batch, categories), rows) + rows * torch.arange(categories)
    table = p("table.weight", categories * rows, width)[ids]
    features = torch.cat((bottom[:, None], table), 1)
    products = torch.tril(features @ features.transpose(1, 2), -1).flatten(1)
    top = perceptron(p, "top", torch.cat((bottom, products), 1), hidden, hidden)
    clicked = (floats(batch, 1) > 0).double()
    return F.binary_cross_entropy_with_logits(dense(p, "logit", top, 1), clicked)


def adapted(rank):
    def project(p, name, x, units):
        base = dense(p, name + ".base", x, units)
        change = x @ p(name + ".down", rank, x.shape[-1]).T @ p(name + ".up", units, rank).T
        return base + change * (16.0 / rank)

    return project


def lora(p, batch, seq, vocab, width, heads, depth, rank):
    tokens, following = text(batch, seq, vocab)
    x = p("x.embedding_0.weight", vocab, width)[tokens] + p("x.position_0.weight", seq, width)
    for i in range(depth):
        attn = attention(p, f"attn.{i}", layer_norm(p, f"norm1.{i}", x), heads, True, adapted(rank))
        middle = x + attn
        x = middle + mlp(p, f"ffn.{i}", layer_norm(p, f"norm2.{i}", middle), 4 * width)
    logits = dense(p, "logits", layer_norm(p, "norm", x), vocab)
    return F.cross_entropy(logits.flatten(0, 1), following.flatten())


def lstm(p, batch, seq, vocab, width, depth, cell):
    tokens, following = text(batch, seq, vocab)
    x = p("x.weight", vocab, width)[tokens]
    for i in range(depth):
        name, rows = f"x.{i}", (4 if cell == "lstm" else 3) * width
        weights = [p(name + ".gates.weight", rows, width), p(name + ".weight", rows, width), p(name + ".gates.bias", rows)]
        state = torch.zeros(1, batch, width)
        if cell == "lstm":
            weights.append(torch.zeros(rows))
            x = torch._VF.lstm(x, (state, state), weights, True, 1, 0.0, True, False, True)[0]
        else:
            weights.append(p(name + ".bias", rows))
            x = torch._VF.gru(x, state, weights, True, 1, 0.0, True, False, True)[0]
    return F.cross_entropy(dense(p, "logits", x, vocab).flatten(0, 1), following.flatten())


def bare(p, name, x, units):
    return dense(p, name, x, units, bias=False)


def mamba(p, batch, seq, vocab, width, inner, states, rank, kernel, depth):
    tokens, following = text(batch, seq, vocab)
    x = p("x.weight", vocab, width)[tokens]
    for i in range(depth):
        name, norm = f"mixed.{i}", rms_norm(p, f"norm.{i}", x)
        up, gate = bare(p, name + ".up", norm, inner), bare(p, name + ".gate", norm, inner)
        taps, bias = p(name + ".conv.weight", inner, kernel), p(name + ".conv.bias", inner)
        places = F.pad(up.transpose(1, 2), (kernel - 1, 0))
        conv = F.silu(F.conv1d(places, taps[:, None], bias, groups=inner).transpose(1, 2))
        delta = F.softplus(dense(p, name + ".delta", bare(p, name + ".low", conv, rank), inner))
        enter, leave = bare(p, name + ".enter", conv, states), bare(p, name + ".leave", conv, states)
        rate = torch.exp(p(name + ".scanned.log_rate", inner, states)) * torch.arange(1, states + 1)
        state, read = torch.zeros(batch, inner, states), []
        for t in range(seq):
            taken = (delta[:, t] * conv[:, t])[:, :, None] * enter[:, t, None]
            state = torch.exp(-delta[:, t, :, None] * rate) * state + taken
            read.append((state * leave[:, t, None]).sum(-1))
        scanned = torch.stack(read, 1) + conv * p(name + ".scanned.skip", inner)
        x = x + bare(p, name + ".out", scanned * F.silu(gate), width)
    return F.cross_entropy(bare(p, "logits", rms_norm(p, "norm", x), vocab).flatten(0, 1), following.flatten())


def gla(p, batch, seq, vocab, width, heads, rank, hidden, depth, chunk):
    tokens, following = text(batch, seq, vocab)
    x = p("x.weight", vocab, width)[tokens]
    split = lambda y: y.reshape(batch, seq, heads, width // heads)
    for i in range(depth):
        name, norm = f"attn.{i}", rms_norm(p, f"norm1.{i}", x)
        query, key, value = (split(bare(p, f"{name}.{part}", norm, width)) for part in ("query", "key", "value"))
        keep = torch.exp(F.logsigmoid(split(dense(p, name + ".decay", bare(p, name + ".low", norm, rank), width))) / 16)
        state, mixed = torch.zeros(batch, heads, width // heads, width // heads), []
        for t in range(seq):
            state = keep[:, t, :, :, None] * state + key[:, t, :, :, None] * value[:, t, :, None]
            mixed.append((query[:, t, :, None] @ state)[:, :, 0] / math.sqrt(width // heads))
        normed = rms_norm(p, name + ".norm", torch.stack(mixed, 1), eps=0.01).flatten(2)
        x = x + bare(p, name + ".out", normed * F.silu(bare(p, name + ".gate", norm, width)), width)
        norm, name = rms_norm(p, f"norm2.{i}", x), f"ffn.{i}"
        wide = F.silu(bare(p, name + ".gate", norm, hidden)) * bare(p, name + ".up", norm, hidden)
        x = x + bare(p, name + ".down", wide, width)
    return F.cross_entropy(bare(p, "logits", rms_norm(p, "norm", x), vocab).flatten(0, 1), following.flatten())


def deltanet(p, batch, seq, vocab, width, heads, kernel, hidden, depth, chunk):
    tokens, following = text(batch, seq, vocab)
    x, head = p("x.weight", vocab, width)[tokens], width // heads
    for i in range(depth):
        name, norm = f"attn.{i}", rms_norm(p, f"norm1.{i}", x)
        parts = []
        for part in ("query", "key", "value"):
            places = F.pad(bare(p, f"{name}.{part}.up", norm, width).transpose(1, 2), (kernel - 1, 0))
            conv = F.conv1d(places, p(f"{name}.{part}.conv.weight", width, kernel)[:, None], groups=width)
            parts.append(F.silu(conv.transpose(1, 2)).reshape(batch, seq, heads, head))
        unit = lambda y: y * torch.rsqrt(y.square().sum(3, keepdim=True) + 1e-12)
        query, key, value = unit(parts[0]) / math.sqrt(head), unit(parts[1]), parts[2]
        strength = torch.sigmoid(bare(p, name + ".strength", norm, heads))
        keep = torch.exp(-torch.exp(p(name + ".log_rate", heads)) * F.softplus(dense(p, name + ".step", norm, heads)))
        state, mixed = torch.zeros(batch, heads, head, head), []
        for t in range(seq):
            state = keep[:, t, :, None, None] * state
            found = (key[:, t, :, None] @ state)[:, :, 0]
            state = state + key[:, t, :, :, None] * (strength[:, t, :, None] * (value[:, t] - found))[:, :, None]
            mixed.append((query[:, t, :, None] @ state)[:, :, 0])
        normed = rms_norm(p, name + ".norm", torch.stack(mixed, 1)).flatten(2)
        x = x + bare(p, name + ".out", normed * F.silu(bare(p, name + ".gate", norm, width)), width)
        norm, name = rms_norm(p, f"norm2.{i}", x), f"ffn.{i}"
        wide = F.silu(bare(p, name + ".gate", norm, hidden)) * bare(p, name + ".up", norm, hidden)
        x = x + bare(p, name + ".down", wide, width)
    return F.cross_entropy(bare(p, "logits", rms_norm(p, "norm", x), vocab).flatten(0, 1), following.flatten())


def graphs(batch, nodes, edges, features):
    """Features, neighbours and labels of graphs; neighbours as a matrix of how many edges lead to each node from each."""
    edge, count = whole((batch, 2, edges), nodes), torch.zeros(batch, nodes, nodes)
    for b in range(batch):
        for source, target in edge[b].T.tolist():
            count[b, target, source] += 1
    return floats(batch, nodes, features), count + torch.eye(nodes), whole((batch, nodes), nodes)


def gcn(p, batch, nodes, edges, features, width, classes, depth):
    x, count, label = graphs(batch, nodes, edges, features)
    share = count.sum(2, keepdim=True).rsqrt()
    for i in range(depth):
        projected = bare(p, f"x.{i}.projected", x, width)
        x = F.relu(share * (count @ (share * projected)) + p(f"x.{i}.bias", width))
    return F.cross_entropy(dense(p, "logits", x, classes).flatten(0, 1), label.flatten())


def gat(p, batch, nodes, edges, features, heads, head, classes, depth):
    x, count, label = graphs(batch, nodes, edges, features)
    for i in range(depth):
        projected = bare(p, f"x.{i}.projected", x, heads * head).reshape(batch, nodes, heads, head)
        of_source = (projected * p(f"x.{i}.from", heads, head)).sum(3)
        of_target = (projected * p(f"x.{i}.to", heads, head)).sum(3)
        scores = F.leaky_relu(of_target[:, :, None] + of_source[:, None], 0.2)
        weights = count[..., None] * torch.exp(scores)
        mixed = torch.einsum("btsh,bshe->bthe", weights / weights.sum(2, keepdim=True), projected).flatten(2)
        x = F.elu(mixed + p(f"x.{i}.bias", heads * head))
    return F.cross_entropy(dense(p, "logits", x, classes).flatten(0, 1), label.flatten())


def convnext(p, batch, size, patch, widths, depths, rate):
    def norm(name, x):  # Of the channels, at each place.
        return F.layer_norm(x, x.shape[-1:], p(name + ".weight", x.shape[-1]), p(name + ".bias", x.shape[-1]), 1e-6)

    def last(x):
        return x.permute(0, 2, 3, 1)

    def first(x):
        return x.permute(0, 3, 1, 2)

    image, label = floats(batch, 3, size, size), whole((batch,), 10)
    h = first(norm("start", last(conv2d(p, "stem", image, widths[0], patch, patch))))
    for s, (width, depth) in enumerate(zip(widths, depths)):
        if s > 0:
            half = f"half.{s}"
            h = conv2d(p, half, first(norm(half + ".norm", last(h))), width, 2, 2)
        for i in range(depth):
            own = f"h.{s}.{i}"
            seen = F.conv2d(h, p(own + ".seen.weight", width, 1, 7, 7), p(own + ".seen.bias", width), padding=3, groups=width)
            up = F.gelu(dense(p, own + ".mixed.dense_0", norm(own + ".norm", last(seen)), 4 * width))
            mixed = first(dense(p, own + ".mixed.dense_1", up, width) * p(own + ".scale", width))
            h = h + mixed
    logits = dense(p, "logits", norm("norm", h.mean((2, 3))), 10)
    return F.cross_entropy(logits, label, label_smoothing=0.1)


def dit(p, batch, size, patch, channels, width, heads, depth, times):
    def told(x, shift, scale):
        return F.layer_norm(x, x.shape[-1:], eps=1e-6) * (1 + scale[:, None]) + shift[:, None]

    image, label = floats(batch, channels, size, size), whole((batch,), 10)
    time = (Draws.uniform("time.uniform", batch).float() * times).long()
    noise = Draws.normal("noise.normal", *image.shape)
    kept = torch.cumprod(1 - torch.linspace(1e-4, 0.02, times), 0)[time][:, None, None, None]
    noisy = kept.sqrt() * image + (1 - kept).sqrt() * noise
    angle = time[:, None] * torch.exp(torch.arange(16) * (-math.log(10000) / 16))
    when = dense(p, "when", F.silu(dense(p, "hidden", torch.cat((angle.cos(), angle.sin()), 1), width)), width)
    label = torch.where(Draws.uniform("is_told.uniform", batch) < 0.9, label, 10)
    about = F.silu(when + p("what.weight", 11, width)[label])
    x = conv2d(p, "patches", noisy, width, patch, patch).flatten(2).transpose(1, 2)
    x = x + p("x.weight", x.shape[1], width)
    for i in range(depth):
        own = f"x.{i}"
        parts = dense(p, own + ".parts", about, 6 * width).chunk(6, 1)
        x = x + parts[2][:, None] * attention(p, own + ".attn.attention_0", told(x, *parts[:2]), heads, False, dense)
        x = x + parts[5][:, None] * mlp(p, own + ".ffn.mlp_0", told(x, *parts[3:5]), 4 * width)
    out = dense(p, "out.dense_0", told(x, *dense(p, "shift_scale", about, 2 * width).chunk(2, 1)), patch * patch * channels)
    side = size // patch
    guess = out.reshape(batch, side, side, patch, patch, channels).permute(0, 5, 1, 3, 2, 4).reshape(image.shape)
    return F.mse_loss(guess, noise)


FIELDS = {"llama": ("width", "heads", "groups", "hidden", "depth")}  # Of the model's record `sizes`.


def train(model, lr, folder=None, files=None, devices=(None,), clip=None, trained=lambda name: True, fixed=(), **sizes):
    """Writes the losses, below a line for each of the example's files and each number of devices."""
    p = Parameters()
    model(p, **sizes)
    mine = [value for key, value in p.items() if trained(key)]
    optimizer = torch.optim.SGD(mine, lr=lr)
    losses = []
    for step in range(1, 9):
        Draws.step = step
        loss = model(p, **sizes)
        optimizer.zero_grad()
        loss.backward()
        if clip is not None:
            torch.nn.utils.clip_grad_norm_(mine, clip)
        optimizer.step()
        losses.append(loss.item())
    named = {("sizes." if key in FIELDS.get(model.__name__, ()) else "") + key: value for key, value in sizes.items()}
    settings = [f'{key}="{value}"' if isinstance(value, str) else f"{key}={value}" for key, value in named.items()]
    settings += [f"optimizer=sgd(lr = {lr})", *fixed]
    name = model.__name__
    for file in files or [name]:
        for count in devices:
            on = [] if count is None else [f"devices={count}"]
            place = folder or f"examples/{name}"
            print(";".join([f"{place}/{file}.model"] + settings + on))
    print(*losses)


train(mnist_mlp, 0.001, batch=3)
train(mnist_cnn, 0.002, batch=2)
train(sapp_mlp, 0.0005, batch=3)
train(tiny_gpt, 0.1, batch=2, seq=6, vocab=11, width=8, heads=2, depth=2)
train(vmap, 0.05, batch=4, experts=3, width=6)
train(custom_op, 0.01, batch=3)
train(regions, 0.05, devices=(8,), batch=8, width=16, hidden=16)
train(region_function, 0.05, devices=(8,), batch=8, features=24)
train(global_view, 0.5, files=("columns_rows", "data_parallel", "rows"), devices=(2,), batch=8)
train(manual_mlp, 0.01, devices=(1, 4), batch=4)
train(manual_halo, 0.5, devices=(1, 2, 4), batch=2, channels=2)
train(manual_transpose, 0.2, devices=(1, 4), batch=3, strips=8, width=12)
train(resnet, 0.05, batch=3, width=2, stages=2, blocks=2)
train(unet, 0.05, batch=2, width=2, fixed=("missing=0.0",))
train(vae, 0.001, batch=3, hidden=6, latent=3)
train(diffusion, 0.05, clip=1.0, batch=2, times=5, width=4, groups=2)
train(vit, 0.1, clip=1.0, batch=3, size=28, patch=14, width=8, heads=2, depth=2)
train(llama, 0.1, clip=1.0, batch=2, seq=6, vocab=11, width=8, heads=4, groups=2, hidden=12, depth=2)
for chosen, room in ((1, 80), (2, 0)):
    train(moe, 0.1, batch=2, seq=6, vocab=11, width=8, heads=2, experts=3, chosen=chosen, hidden=12, depth=2, room=room)
train(dlrm, 1.0, batch=6, numbers=5, categories=3, rows=7, width=4, hidden=6)
train(clip, 0.5, clip=1.0, batch=6, size=8, patch=4, words=3, vocab=7, width=8, heads=2, depth=1, shared=6)
is_change = lambda name: name.endswith((".down", ".up"))
for cell in ("lstm", "gru"):
    train(lstm, 1.0, clip=1.0, batch=2, seq=7, vocab=11, width=8, depth=2, cell=cell)
train(lora, 0.5, trained=is_change, batch=2, seq=6, vocab=11, width=8, heads=2, depth=2, rank=2)
train(mamba, 0.3, clip=1.0, batch=2, seq=7, vocab=11, width=6, inner=8, states=3, rank=2, kernel=3, depth=2)
train(gla, 0.3, clip=1.0, batch=2, seq=7, vocab=11, width=8, heads=2, rank=3, hidden=12, depth=2, chunk=3)
train(deltanet, 0.3, clip=1.0, batch=2, seq=14, vocab=11, width=8, heads=2, kernel=3, hidden=12, depth=2, chunk=4)
train(gcn, 0.2, folder="examples/graphs", batch=3, nodes=5, edges=9, features=4, width=6, classes=5, depth=2)
train(gat, 0.2, folder="examples/graphs", batch=3, nodes=5, edges=9, features=4, heads=2, head=3, classes=5, depth=2)
for model, sizes in (
    (convnext, dict(batch=2, size=16, patch=2, widths=(4, 6), depths=(2, 1), rate=0.0)),
    (dit, dict(batch=2, size=4, patch=2, channels=3, width=8, heads=2, depth=2, times=6)),
):
    train(model, 0.1, folder="tests/architectures", **sizes)
