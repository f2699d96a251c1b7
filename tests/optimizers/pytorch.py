"""What PyTorch makes of small.model with each optimizer, and of the other models, in ten steps, in double: writes pytorch.txt.

Written with torch 2.15.0 by `python pytorch.py > pytorch.txt`. Lion, LAMB and Muon are those of their papers: PyTorch has no Lion and no
LAMB, and its Muon computes in bfloat16.
"""

import math

import torch

torch.set_default_dtype(torch.float64)


def values(shape, seed):
    count = math.prod(shape)
    return torch.tensor([math.sin(seed + 1.7 * i) for i in range(count)]).reshape(shape)


class Lion(torch.optim.Optimizer):
    def __init__(self, parameters, lr, betas, weight_decay):
        super().__init__(parameters, dict(lr=lr, betas=betas, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                m = self.state[p].setdefault("m", torch.zeros_like(p))
                b1, b2 = group["betas"]
                direction = torch.sign(b1 * m + (1 - b1) * p.grad) + group["weight_decay"] * p
                m.mul_(b2).add_((1 - b2) * p.grad)
                p.sub_(group["lr"] * direction)


class Lamb(torch.optim.Optimizer):
    def __init__(self, parameters, lr, weight_decay, betas=(0.9, 0.999), eps=1e-6):
        super().__init__(parameters, dict(lr=lr, weight_decay=weight_decay, betas=betas, eps=eps))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                t = state["t"] = state.get("t", 0) + 1
                m = state.setdefault("m", torch.zeros_like(p))
                v = state.setdefault("v", torch.zeros_like(p))
                b1, b2 = group["betas"]
                m.mul_(b1).add_((1 - b1) * p.grad)
                v.mul_(b2).add_((1 - b2) * p.grad**2)
                r = (m / (1 - b1**t)) / ((v / (1 - b2**t)).sqrt() + group["eps"])
                u = r + group["weight_decay"] * p
                lengths = p.norm(), u.norm()
                trust = lengths[0] / lengths[1] if lengths[0] > 0 and lengths[1] > 0 else 1.0
                p.sub_(group["lr"] * trust * u)


def orthogonalized(x):
    y = (x.T if x.size(0) > x.size(1) else x).clone()
    y /= y.norm().clamp(min=1e-7)
    for _ in range(5):
        gram = y @ y.T
        y = 3.4445 * y + (-4.7750 * gram + 2.0315 * gram @ gram) @ y
    return y.T if x.size(0) > x.size(1) else y


class Muon(torch.optim.Optimizer):
    def __init__(self, parameters, lr, weight_decay=0.1, momentum=0.95):
        super().__init__(parameters, dict(lr=lr, weight_decay=weight_decay, momentum=momentum))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                share = group["momentum"]
                m = self.state[p].setdefault("m", torch.zeros_like(p))
                m.lerp_(p.grad, 1 - share)
                direction = orthogonalized(p.grad.lerp(m, share))
                p.mul_(1 - group["lr"] * group["weight_decay"])
                p.sub_(group["lr"] * math.sqrt(max(1, p.size(0) / p.size(1))) * direction)


class Several:
    """Optimizers of different parameters."""

    def __init__(self, *optimizers):
        self.all = optimizers

    def zero_grad(self):
        for each in self.all:
            each.zero_grad()

    def step(self):
        for each in self.all:
            each.step()


class Scheduled:
    def __init__(self, optimizer, scheduler):
        self.optimizer, self.scheduler = optimizer, scheduler
        self.zero_grad = optimizer.zero_grad

    def step(self):
        self.optimizer.step()
        self.scheduler.step()


def sgd_with(make):
    def scheduled(parameters):
        optimizer = torch.optim.SGD(parameters, lr=0.1)
        return Scheduled(optimizer, make(optimizer))

    return scheduled


def clipped(make, longest, of=slice(None)):
    def optimizer_of(parameters):
        optimizer = make(parameters)
        inner = optimizer.step

        def step():
            torch.nn.utils.clip_grad_norm_(parameters[of], longest)
            inner()

        optimizer.step = step
        return optimizer

    return optimizer_of


def muon_and_adamw(parameters, lr):
    others = [p for p in parameters if p.ndim != 2]
    return Several(Muon([p for p in parameters if p.ndim == 2], lr), torch.optim.AdamW(others, lr=lr, weight_decay=0.1))


optim, schedules = torch.optim, torch.optim.lr_scheduler
OPTIMIZERS = {
    "sgd(lr = 0.1)": lambda p: optim.SGD(p, lr=0.1),
    "sgd(lr = 0.1, weight_decay = 0.01)": lambda p: optim.SGD(p, lr=0.1, weight_decay=0.01),
    "momentum(lr = 0.05, weight_decay = 0.01)": lambda p: optim.SGD(p, lr=0.05, momentum=0.9, weight_decay=0.01),
    "momentum(lr = 0.05, momentum = 0.8, nesterov = true)": lambda p: optim.SGD(p, lr=0.05, momentum=0.8, nesterov=True),
    "adam(lr = 0.01, weight_decay = 0.1)": lambda p: optim.Adam(p, lr=0.01, weight_decay=0.1),
    "adamw(lr = 0.01, beta1 = 0.8, beta2 = 0.99, epsilon = 1e-6, weight_decay = 0.1)": lambda p: optim.AdamW(
        p, lr=0.01, betas=(0.8, 0.99), eps=1e-6, weight_decay=0.1
    ),
    "lion(lr = 0.01, weight_decay = 0.1)": lambda p: Lion(p, lr=0.01, betas=(0.9, 0.99), weight_decay=0.1),
    "rmsprop(lr = 0.01, weight_decay = 0.1)": lambda p: optim.RMSprop(p, lr=0.01, weight_decay=0.1),
    "rmsprop(lr = 0.01, alpha = 0.9, momentum = 0.5, centered = true)": lambda p: optim.RMSprop(
        p, lr=0.01, alpha=0.9, momentum=0.5, centered=True
    ),
    "adagrad(lr = 0.1, lr_decay = 0.1, weight_decay = 0.01)": lambda p: optim.Adagrad(
        p, lr=0.1, lr_decay=0.1, weight_decay=0.01
    ),
    "lamb(lr = 0.01)": lambda p: Lamb(p, lr=0.01, weight_decay=0.01),
    "adafactor(lr = 0.1, weight_decay = 0.1)": lambda p: optim.Adafactor(p, lr=0.1, weight_decay=0.1, eps=(2.0**-23, 1e-3)),
    "muon(lr = 0.02)": lambda p: muon_and_adamw(p, lr=0.02),
    "sgd(lr = step(0.1, every = 3, factor = 0.5))": sgd_with(lambda o: schedules.StepLR(o, 3, 0.5)),
    "sgd(lr = polynomial(0.1, steps = 8, power = 2.0))": sgd_with(lambda o: schedules.PolynomialLR(o, 8, 2.0)),
    "sgd(lr = one_cycle(0.2, steps = 10))": sgd_with(
        lambda o: schedules.OneCycleLR(o, max_lr=0.2, total_steps=10, pct_start=0.3, cycle_momentum=False)
    ),
    "momentum(lr = 0.2); clip = 0.3": clipped(lambda p: optim.SGD(p, lr=0.2, momentum=0.9), 0.3),
    "adamw(lr = 0.01, weight_decay = 0.01); clip = 100": clipped(lambda p: optim.AdamW(p, lr=0.01), 100),
    'adamw(lr = 0.01, weight_decay = 0.1); groups = { "*.bias": optimizer(lr = 10 * lr, weight_decay = 0.0) }': lambda p: optim.AdamW(
        [{"params": p[::2], "weight_decay": 0.1}, {"params": p[1::2], "lr": 0.1, "weight_decay": 0.0}], lr=0.01
    ),
    'adamw(lr = 0.01); groups = { "h.*": frozen, "out.bias": momentum(lr = 0.1) }; clip = 0.3': clipped(
        lambda p: Several(optim.AdamW(p[2:3], lr=0.01), optim.SGD(p[3:], lr=0.1, momentum=0.9)), 0.3, of=slice(2, 4)
    ),
}


X, Y = values((6, 3), 0.3), values((6, 2), 1.1)


def trainable(**shapes):
    """Parameters with the values that the test gives them, in the order of the model."""
    return {name: values(shape, 2.0 + i).requires_grad_() for i, (name, shape) in enumerate(shapes.items())}


def write(title, results, parameters):
    print(title)
    for name in results[0]:
        print(name, *[result[name] for result in results])
    for name, p in parameters.items():
        print(name.replace("__", "."), *p.flatten().tolist())


def train_small(text, make):
    p = trainable(h__weight=(4, 3), h__bias=(4,), out__weight=(2, 4), out__bias=(2,))
    optimizer = make(list(p.values()))
    results = []
    for _ in range(10):
        h = torch.tanh(X @ p["h__weight"].T + p["h__bias"])
        loss = torch.nn.functional.mse_loss(h @ p["out__weight"].T + p["out__bias"], Y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        results.append({"loss": loss.item()})
    write(text, results, p)


def train_gan():
    p = trainable(
        up=(4, 3),
        down=(1, 4),
        average=(1, 4),
        fake__hidden__weight=(4, 2),
        fake__hidden__bias=(4,),
        fake__image__weight=(3, 4),
        fake__image__bias=(3,),
    )
    critic = [p["up"], p["down"]]
    generator = [p[name] for name in p if name.startswith("fake")]
    optimizer = Several(optim.Adam(critic, lr=0.05), optim.SGD(generator, lr=0.1))
    bce = torch.nn.functional.binary_cross_entropy_with_logits
    ones = torch.ones((6, 1))
    results = []
    for _ in range(10):
        hidden = torch.tanh(Y @ p["fake__hidden__weight"].T + p["fake__hidden__bias"])
        fake = hidden @ p["fake__image__weight"].T + p["fake__image__bias"]
        judged = lambda x: torch.tanh(x @ p["up"].T) @ p["down"].T
        losses = bce(judged(X), ones), bce(judged(fake.detach()), 0 * ones), bce(judged(fake), ones)
        gradients = torch.autograd.grad(losses[0] + losses[1], critic, retain_graph=True)
        gradients += torch.autograd.grad(0.5 * losses[2], generator)
        for parameter, gradient in zip(critic + generator, gradients):
            parameter.grad = gradient
        with torch.no_grad():
            p["average"].mul_(0.9).add_(0.1 * p["down"])
        optimizer.step()
        real, fake, generated = [loss.item() for loss in losses]
        results.append(
            {"loss": real + fake + 0.5 * generated, "loss.real": real, "loss.fake": fake, "loss.generator": generated}
        )
    write("gan.model", results, p)


def train_turns():
    p = trainable(up=(4, 3), down=(1, 4), fake__weight=(3, 2), fake__bias=(3,), fake__average=(3,))
    critic, generator = [p["up"], p["down"]], [p["fake__weight"], p["fake__bias"]]
    of_critic = clipped(lambda q: optim.Adam(q, lr=0.05, betas=(0.5, 0.999)), 0.3)(critic)
    of_generator = clipped(lambda q: optim.Adam(q, lr=0.1, betas=(0.5, 0.999), weight_decay=0.01), 0.3)(generator)
    bce = torch.nn.functional.binary_cross_entropy_with_logits
    ones = torch.ones((6, 1))
    results = []
    for step in range(10):
        fake = torch.tanh(Y @ p["fake__weight"].T) + p["fake__bias"]
        judged = lambda x: torch.tanh(x @ p["up"].T) @ p["down"].T
        losses = bce(judged(X), ones), bce(judged(fake.detach()), 0 * ones), bce(judged(fake), ones)
        of_critic.zero_grad()
        of_generator.zero_grad()
        if step % 5 < 4:
            (losses[0] + losses[1]).backward()
            of_critic.step()
        else:
            losses[2].backward()
            with torch.no_grad():
                p["fake__average"].mul_(0.9).add_(0.1 * p["fake__bias"])
            of_generator.step()
        real, fake, generated = [loss.item() for loss in losses]
        results.append({"loss": real + fake + generated, "loss.real": real, "loss.fake": fake, "loss.generator": generated})
    write("turns.model", results, p)


def train_lora():
    p = trainable(
        h__weight=(4, 3), h__bias=(4,), h__down=(2, 3), h__up=(4, 2), out__weight=(2, 4), out__bias=(2,), out__down=(1, 4), out__up=(2, 1)
    )
    optimizer = optim.AdamW([p[name] for name in p if name.endswith(("down", "up"))], lr=0.05)
    results = []
    for _ in range(10):
        linear = lambda x, name: x @ p[name + "__weight"].T + p[name + "__bias"] + x @ p[name + "__down"].T @ p[name + "__up"].T
        loss = torch.nn.functional.mse_loss(linear(torch.tanh(linear(X, "h")), "out"), Y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        results.append({"loss": loss.item()})
    write("lora.model", results, p)


for text, make in OPTIMIZERS.items():
    train_small(text, make)
train_gan()
train_lora()
train_turns()
