# SPDX-License-Identifier: BSD-2-Clause
import torch
from measured import is_over, measured
from torch.utils.data import DataLoader

import helpers


def collate(rows):
    with measured:
        helpers.step()
    return torch.tensor(rows)


def train(model, batches):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for batch in batches:
        optimizer.zero_grad()
        model(batch).pow(2).mean().backward()
        optimizer.step()
        if is_over():
            return


def main():
    torch.set_num_threads(1)
    model = torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
    rows = [[float(i % 7)] * 16 for i in range(4000)]
    while not is_over():
        train(model, DataLoader(rows, batch_size=64, collate_fn=collate))


if __name__ == "__main__":
    main()
