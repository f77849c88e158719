# SPDX-License-Identifier: BSD-2-Clause
# packages: torch==1.12.1+numpy<2
# python: 3.10
"""Trains a small network on the CPU: code that oneDNN generates, threads of OpenMP, threads of
autograd. 1.12.1 is the last version whose wheel contains all the libraries that it needs."""
import torch

import busy

MODEL = torch.nn.Sequential(torch.nn.Conv2d(3, 16, 3), torch.nn.ReLU(), torch.nn.Flatten(),
                            torch.nn.Linear(16 * 30 * 30, 64), torch.nn.Tanh(),
                            torch.nn.Linear(64, 10))
OPTIMIZER = torch.optim.Adam(MODEL.parameters())
IMAGES, LABELS = torch.randn(16, 3, 32, 32), torch.randint(10, (16,))
BIG = torch.randn(400, 400)


def round_():
    OPTIMIZER.zero_grad()
    torch.nn.functional.cross_entropy(MODEL(IMAGES), LABELS).backward()
    OPTIMIZER.step()
    (BIG @ BIG).softmax(1).sort(1)


busy.run(round_)
