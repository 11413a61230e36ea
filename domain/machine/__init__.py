"""What the machine provides below every store: files, disks, locks and signals."""
