"""The machine below every store: files, disks, locks and signals."""
