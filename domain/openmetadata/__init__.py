"""What OpenMetadata's clients send and want to be shown, where it is not what is recorded."""
