"""From verdicts to what people and programs read: the board, the terminal section, the JSON file."""
