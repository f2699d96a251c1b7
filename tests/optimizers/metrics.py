"""What the metrics of metrics.model are by their definitions, and what PyTorch makes of its loss: writes metrics.txt.

Written with numpy 2.4.6 and torch 2.15.0 by `python metrics.py > metrics.txt`. The last two samples are padding, which no metric counts.
"""

import numpy as np
import torch

SAMPLES, CLASSES, REAL = 12, 5, 10
X = np.sin(2.2 + 1.7 * np.arange(SAMPLES * CLASSES)).reshape(SAMPLES, CLASSES)
LABEL = np.arange(SAMPLES) ** 2 * 7 % 11 % CLASSES
TRUTH = np.arange(SAMPLES) ** 2 * 7 % 3

shift = torch.zeros(CLASSES, dtype=torch.float64, requires_grad=True)
loss = torch.nn.functional.cross_entropy(torch.tensor(X) + shift, torch.tensor(LABEL), label_smoothing=0.1)
loss.backward()
print("loss", loss.item())
print("shift.grad", *shift.grad.tolist())

x, label, truth = X[:REAL], LABEL[:REAL], TRUTH[:REAL] == 1
guess = x.argmax(axis=1)
two_best = np.argsort(-x, axis=1, kind="stable")[:, :2]
print("top_k_accuracy", np.mean([l in best for l, best in zip(label, two_best)]))
print("perplexity", np.exp(np.mean(np.log(np.exp(x).sum(axis=1)) - x[np.arange(REAL), label])))


def ratio(part, whole):
    return part / whole if whole > 0 else 0.0


def of_class(c):
    right, guessed, there = np.sum((guess == c) & (label == c)), np.sum(guess == c), np.sum(label == c)
    return ratio(right, guessed), ratio(right, there), ratio(2 * right, guessed + there)


counted = [of_class(c) for c in range(CLASSES) if np.any(guess == c) or np.any(label == c)]
for name, values in zip(("macro_precision", "macro_recall", "macro_f1"), zip(*counted)):
    print(name, np.mean(values))
matrix = np.zeros((CLASSES, CLASSES))
np.add.at(matrix, (label, guess), 1)
print("confusion_matrix", *matrix.flatten())
score = x[:, 0]
hit = score > 0.25
print("precision", np.sum(hit & truth) / np.sum(hit))
print("recall", np.sum(hit & truth) / np.sum(truth))
print("f1", 2 * np.sum(hit & truth) / (np.sum(hit) + np.sum(truth)))
differences = score[truth][:, None] - score[~truth][None, :]
print("auc", np.mean((differences > 0) + 0.5 * (differences == 0)))
