"""Computes with torch, without a kernel of its own."""

import torch


def affine(x, y):
    return torch.add(y, x, alpha=2.0)
