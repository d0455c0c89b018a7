"""Pure machines: messages in, messages out. No clock, no dice, no IO."""
