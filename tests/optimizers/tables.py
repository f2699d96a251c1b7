"""What PyTorch makes of tables.model with sparse gradients in ten steps, in double: writes tables.txt.

Written with torch 2.15.0 by `python tables.py > tables.txt`.
"""

import math

import torch
from torch.nn.functional import embedding, mse_loss

torch.set_default_dtype(torch.float64)


def values(shape, seed):
    count = math.prod(shape)
    return torch.tensor([math.sin(seed + 1.7 * i) for i in range(count)]).reshape(shape)


def numbers(shape, rows):
    count = math.prod(shape)
    return torch.tensor([i * i * 7 % rows for i in range(count)]).reshape(shape)


def clip(parameters, longest):
    for p in parameters:
        p.grad = p.grad.coalesce()
    norm = math.sqrt(sum(float((p.grad.values() ** 2).sum()) for p in parameters))
    for p in parameters:
        p.grad = p.grad * min(1.0, longest / (norm + 1e-6))


optim = torch.optim
OPTIMIZERS = {
    "sgd(lr = 0.5)": (lambda p: optim.SGD(p, lr=0.5), None),
    "sgd(lr = 0.5); clip = 0.1": (lambda p: optim.SGD(p, lr=0.5), 0.1),
    "adagrad(lr = 0.1)": (lambda p: optim.Adagrad(p, lr=0.1), None),
    "adagrad(lr = 0.1, lr_decay = 0.1); clip = 0.1": (lambda p: optim.Adagrad(p, lr=0.1, lr_decay=0.1), 0.1),
}


def main():
    ids, bag, y = numbers((6,), 11), numbers((6, 2), 13), values((6, 3), 1.1)
    for text, (make, longest) in OPTIMIZERS.items():
        parameters = {"table": values((11, 3), 2.0), "words.weight": values((13, 3), 3.0)}
        for p in parameters.values():
            p.requires_grad_()
        optimizer = make(list(parameters.values()))
        print(text)
        losses = []
        for _ in range(10):
            rows = embedding(ids, parameters["table"], sparse=True)
            words = embedding(bag, parameters["words.weight"], sparse=True)
            loss = mse_loss(torch.tanh(rows + words.sum(1)), y)
            optimizer.zero_grad()
            loss.backward()
            if longest is not None:
                clip(parameters.values(), longest)
            optimizer.step()
            losses.append(loss.item())
        print("loss", *losses)
        for name, p in parameters.items():
            print(name, *p.flatten().tolist())


main()
