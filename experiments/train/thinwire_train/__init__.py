"""Training and finetuning in PyTorch of the models that thinwire runs."""
