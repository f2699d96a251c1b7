"""What PyTorch makes of small.model with each optimizer in ten steps, in double: writes pytorch.txt.

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


class Both:
    """Muon for matrices, AdamW for the others."""

    def __init__(self, parameters, lr):
        self.all = [
            Muon([p for p in parameters if p.ndim == 2], lr),
            torch.optim.AdamW([p for p in parameters if p.ndim != 2], lr=lr, weight_decay=0.1),
        ]

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


def clipped(make, longest):
    def optimizer_of(parameters):
        optimizer = make(parameters)
        inner = optimizer.step

        def step():
            torch.nn.utils.clip_grad_norm_(parameters, longest)
            inner()

        optimizer.step = step
        return optimizer

    return optimizer_of


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
    "muon(lr = 0.02)": lambda p: Both(p, lr=0.02),
    "sgd(lr = step(0.1, every = 3, factor = 0.5))": sgd_with(lambda o: schedules.StepLR(o, 3, 0.5)),
    "sgd(lr = polynomial(0.1, steps = 8, power = 2.0))": sgd_with(lambda o: schedules.PolynomialLR(o, 8, 2.0)),
    "sgd(lr = one_cycle(0.2, steps = 10))": sgd_with(
        lambda o: schedules.OneCycleLR(o, max_lr=0.2, total_steps=10, pct_start=0.3, cycle_momentum=False)
    ),
    "momentum(lr = 0.2); clip = 0.3": clipped(lambda p: optim.SGD(p, lr=0.2, momentum=0.9), 0.3),
    "adamw(lr = 0.01, weight_decay = 0.01); clip = 100": clipped(lambda p: optim.AdamW(p, lr=0.01), 100),
}


def main():
    x, y = values((6, 3), 0.3), values((6, 2), 1.1)
    for text, make in OPTIMIZERS.items():
        parameters = {
            "h.weight": values((4, 3), 2.0),
            "h.bias": values((4,), 3.0),
            "out.weight": values((2, 4), 4.0),
            "out.bias": values((2,), 5.0),
        }
        for p in parameters.values():
            p.requires_grad_()
        optimizer = make(list(parameters.values()))
        print(text)
        losses = []
        for _ in range(10):
            h = torch.tanh(x @ parameters["h.weight"].T + parameters["h.bias"])
            loss = torch.nn.functional.mse_loss(h @ parameters["out.weight"].T + parameters["out.bias"], y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        print("loss", *losses)
        for name, p in parameters.items():
            print(name, *p.flatten().tolist())


main()
