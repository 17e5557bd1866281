"""Frame after frame: clips that are baked, targets that are followed, motion that goes on."""
